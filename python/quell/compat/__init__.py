"""Other packages' functions, computed by quell: change the import and keep the program."""
