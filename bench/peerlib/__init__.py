"""Measurement of quell beside its CPU peers; entered through bench/peers."""
