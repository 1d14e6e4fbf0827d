"""Arrays of a library that does not exist: capsules of DLPack, made by hand."""

import ctypes

API = ctypes.pythonapi
API.PyCapsule_New.restype = ctypes.py_object
API.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

CPU, CUDA, METAL = 1, 2, 8
CODES = {"int": 0, "uint": 1, "float": 2, "bfloat": 4}


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Plain(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", DELETER)]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", DELETER),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


class Producer:
    """An array that says it is on some device. `freed` counts how often it was given back."""

    def __init__(self, shape, *, kind="float", bits=32, strides=None, device=(CUDA, 0), address=0x1000, **how):
        self.shape, self.kind, self.bits, self.device, self.address = shape, kind, bits, device, address
        self.strides = strides
        self.versions, self.major, self.flags = how.get("versions", True), how.get("major", 1), how.get("flags", 0)
        self.freed, self.streams, self._kept = 0, [], []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None, **version):
        if version and not self.versions:
            raise TypeError("unexpected keyword argument 'max_version'")
        self.streams.append(stream)
        n = len(self.shape)
        shape = (ctypes.c_int64 * n)(*self.shape)
        strides = (ctypes.c_int64 * n)(*self.strides) if self.strides else None
        tensor = Tensor(self.address, *self.device, n, CODES[self.kind], self.bits, 1, shape, strides, 0)

        def free(_):
            self.freed += 1

        deleter = DELETER(free)
        if version:
            managed, name = Versioned(self.major, 0, None, deleter, self.flags, tensor), b"dltensor_versioned"
        else:
            managed, name = Plain(tensor, None, deleter), b"dltensor"
        # The name has to live as long as the capsule.
        self._kept += [shape, strides, deleter, managed, name]
        return API.PyCapsule_New(ctypes.addressof(managed), name, None)
