"""Model files with one byte flipped."""

import struct
import zipfile

import numpy as np
import pytest

import treedgp
from treedgp import FormatError

LOCAL_HEADER = 30  # bytes of a zip member before its name


def check_flips(path, places, is_unharmed):
    """At places spread over the file: a flip in what an array holds is refused; elsewhere, where zip readers ignore
    some bytes, it is refused or the model is unharmed."""
    whole, in_array = path.read_bytes(), _in_arrays(path)
    at = np.unique(np.linspace(0, len(whole) - 1, places).astype(int))
    assert in_array[at].mean() > 0.5
    bad = path.with_name("bad.npz")
    for i in at:
        bad.write_bytes(whole[:i] + bytes([whole[i] ^ 0x55]) + whole[i + 1 :])
        if in_array[i]:
            with pytest.raises(FormatError):
                treedgp.load(bad)
            continue
        try:
            loaded = treedgp.load(bad)
        except FormatError:
            continue
        assert is_unharmed(loaded)


def _in_arrays(path):
    """(byte of the file)"""
    whole = path.read_bytes()
    out = np.zeros(len(whole), dtype=bool)
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            name, extra = struct.unpack_from("<HH", whole, member.header_offset + 26)
            first = member.header_offset + LOCAL_HEADER + name + extra
            out[first : first + member.compress_size] = True
    return out
