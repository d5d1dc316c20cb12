"""The file format: one npz of plain numbers and JSON, without pickle, written atomically and read with suspicion.

An entry is stored uncompressed, so that no file can claim more memory than its own size. The first entry, `meta`,
names the type, shape and SHA-256 of every other one; a file that differs from what it says is refused.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import math
import os
import re
import secrets
import shutil
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treedgp.errors import ConfigError, FormatError
from treedgp.posterior.draws import Arrays
from treedgp.words import shown

FORMAT = "treedgp"
SCHEMA_VERSION = 1  # raise it when the meaning of a file changes; older ones must keep loading
OWN_KEYS = ("format", "schema_version", "treedgp_version", "arrays")

DTYPES = ("|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f4", "<f8")
NAME = re.compile(r"[A-Za-z0-9_]+([./-][A-Za-z0-9_]+)*")
MAX_BYTES = 8 * 2**30
MAX_META_BYTES = 16 * 2**20
MAX_READ = 4 * 2**20  # at once; it also bounds the directory of the zip
MAX_ARRAYS = 16_384
ZIP64_FROM = 2**30  # bytes of an entry that get 64-bit records; zipfile needs them from 2**31
WANTED = "Expected a file written by save, a checkpoint or `treedgp fit`: give its path, or write it again"
END_BYTES = 22  # of a zip file without a comment: the record that points to its directory
MAX_NAME = 100
MAX_AXES = 8
MAX_NESTING = 20  # of meta


def check_path(path: str | os.PathLike[str]) -> Path:
    """The file to write, links followed. A folder is none, and none is made."""
    if not isinstance(path, str | os.PathLike):
        raise ConfigError(
            f"Expected the path of a file to write, text or pathlib.Path, got {path!r}. Give a file name."
        )
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise ConfigError(f"Expected the name of a file to write, got the folder {str(path)!r}. Add a file name.")
    if not target.parent.is_dir():
        raise ConfigError(
            f"Expected a path in a folder that exists, got {path}: there is no folder {target.parent}. Make it first, "
            "or give another path."
        )
    return target


def write(path: str | os.PathLike[str], meta: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Replaces the file at `path` by one that holds `meta` (JSON types) and `arrays` (numbers).

    Whatever happens meanwhile, `path` holds the old file or the new one.
    """
    target = check_path(path)
    taken = sorted(set(meta) & set(OWN_KEYS))
    _require(not taken, f"meta must leave the keys {', '.join(OWN_KEYS)} to the file, got {', '.join(taken)}")
    _require(len(arrays) <= MAX_ARRAYS, f"expected at most {MAX_ARRAYS} arrays, got {len(arrays)}")
    stored = {name: _plain_array(name, values) for name, values in arrays.items()}
    total, limit = sum(values.nbytes for values in stored.values()), MAX_BYTES - 2 * MAX_META_BYTES
    _require(total <= limit, f"at most {limit} bytes can be saved, got {total}: keep fewer draws")
    text = _encode({**meta, **_own_meta(stored)})
    _decode(text)  # what cannot be read back is not written

    temporary = target.with_name(f".treedgp-{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            with contextlib.suppress(FileNotFoundError):
                shutil.copymode(target, temporary)
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
                _add(archive, "meta", np.frombuffer(text, np.uint8))
                for name, values in stored.items():
                    _add(archive, name, values)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Arrays]:
    """What `write` was given; meta also has `format`, `schema_version` and `treedgp_version`.

    FormatError for a file that is anything but whole and genuine; OSError if it cannot be opened.
    """
    if not isinstance(path, str | os.PathLike):
        raise ConfigError(f"Expected the path of a file to read, text or pathlib.Path, got {path!r}. Give a file name.")
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        raise FormatError(f"{path} is not a regular file. Give the path of a file that treedgp has written.")
    with _BoundedFile(path) as file:
        try:
            _require(status.st_size <= MAX_BYTES, f"it has {status.st_size} bytes, more than {MAX_BYTES}")
            file.seek(max(0, status.st_size - END_BYTES))
            _require(file.read(4) == b"PK\5\6", f"it is cut short, or not treedgp's. {WANTED}")
            with zipfile.ZipFile(file) as archive:
                return _read_archive(archive, status.st_size)
        except FormatError as error:
            raise FormatError(f"{path} cannot be read: {error}.") from error
        except Exception as error:  # zipfile raises many kinds on bytes that mean nothing
            raise FormatError(
                f"{path} is not a treedgp file, or is damaged: {error or type(error).__name__}. "
                "Use another copy, or save the model again."
            ) from error


def digest(meta_part: Any, arrays: Mapping[str, NDArray[Any]]) -> str:
    """SHA-256 of JSON and of arrays with their names, types and shapes; the order of names does not count."""
    stored = {name: _plain_array(name, arrays[name]) for name in sorted(arrays)}
    described = [[name, values.dtype.str, list(values.shape)] for name, values in stored.items()]
    text = _encode([meta_part, described], sort_keys=True)
    total = hashlib.sha256(len(text).to_bytes(8, "little") + text)
    for values in stored.values():
        total.update(_bytes_of(values))
    return total.hexdigest()


class _BoundedFile(io.FileIO):
    """Refuses to read much at once: no length in a hostile file can ask for more memory."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or size < 0:
            size = max(0, os.fstat(self.fileno()).st_size - self.tell())
        _require(size <= MAX_READ, f"its directory claims {size} bytes, expected at most {MAX_READ}")
        return super().read(size) or b""


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise FormatError(message)


def _own_meta(arrays: Arrays) -> dict[str, Any]:
    from treedgp import __version__  # not known yet when this module is imported

    described = {
        name: {
            "dtype": values.dtype.str,
            "shape": list(values.shape),
            "sha256": hashlib.sha256(_bytes_of(values)).hexdigest(),
        }
        for name, values in arrays.items()
    }
    own = (FORMAT, SCHEMA_VERSION, __version__, described)
    return dict(zip(OWN_KEYS, own, strict=True))


def _plain_array(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """Little-endian and contiguous, by row."""
    _require(_is_name(name), f"an array's name must be words joined by . / or -, and not 'meta', got {name!r}")
    array = np.asarray(values, order="C")
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    _require(
        array.dtype.str in DTYPES and array.ndim <= MAX_AXES,
        f"array {name!r} must hold numbers ({', '.join(DTYPES)}) and have at most {MAX_AXES} axes, "
        f"got {array.dtype} with {array.ndim}: convert it",
    )
    return array


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and name != "meta" and len(name) <= MAX_NAME and bool(NAME.fullmatch(name))


def _bytes_of(values: NDArray[Any]) -> memoryview:
    return values.reshape(-1).view(np.uint8).data


def _npy_header(dtype: str, shape: tuple[int, ...]) -> bytes:
    """Of an npy file, version 1.0; made here so that it never depends on the version of NumPy."""
    text = repr({"descr": dtype, "fortran_order": False, "shape": shape}).encode()
    padded = text + b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded


def _add(archive: zipfile.ZipFile, name: str, values: NDArray[Any]) -> None:
    entry = zipfile.ZipInfo(f"{name}.npy")  # dated 1980: the same contents give the same file
    entry.external_attr = 0o644 << 16
    with archive.open(entry, "w", force_zip64=values.nbytes >= ZIP64_FROM) as stream:
        stream.write(_npy_header(values.dtype.str, values.shape))
        stream.write(_bytes_of(values))


def _sync_folder(folder: Path) -> None:
    """So that the new name survives a power failure, too; not every system can."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    with contextlib.suppress(OSError):
        os.fsync(descriptor)
    os.close(descriptor)


def _read_archive(archive: zipfile.ZipFile, file_bytes: int) -> tuple[dict[str, Any], Arrays]:
    entries = {entry.filename: entry for entry in archive.infolist()}
    _require(len(entries) == len(archive.infolist()), "two of its entries have the same name")
    for name, entry in entries.items():
        stored = entry.compress_type == zipfile.ZIP_STORED and entry.compress_size == entry.file_size
        _require(stored, f"its entry {name!r} is compressed, which treedgp never does")
    _require(sum(e.file_size for e in entries.values()) <= file_bytes, "its entries claim more bytes than it has")

    meta = _read_meta(archive, entries)
    described = meta.pop("arrays")
    expected, found = {"meta.npy", *(f"{name}.npy" for name in described)}, set(entries)
    _require(expected == found, f"it lacks, or should not have, {', '.join(sorted(expected ^ found))[:200]!r}")
    return meta, {name: _read_described(archive, entries, name, described[name]) for name in described}


def _read_meta(archive: zipfile.ZipFile, entries: Mapping[str, zipfile.ZipInfo]) -> dict[str, Any]:
    _require("meta.npy" in entries, "it is a zip file, but has no entry 'meta.npy' and so is not treedgp's")
    entry = entries["meta.npy"]
    length = entry.file_size - len(_npy_header("|u1", (entry.file_size,)))
    _require(0 <= length <= MAX_META_BYTES, f"its meta has {length} bytes, expected 0 .. {MAX_META_BYTES}")
    meta = _decode(_read_entry(archive, entry, "|u1", (length,)).tobytes())

    is_ours = isinstance(meta, dict) and meta.get("format") == FORMAT
    _require(is_ours, f"its meta does not say that its format is {FORMAT!r}")
    schema, written_by = meta.get("schema_version"), meta.get("treedgp_version")
    _require(
        type(schema) is int and schema >= 1, f"schema_version must be an integer of at least 1, got {shown(schema)}"
    )
    _require(
        schema <= SCHEMA_VERSION,
        f"it was written by treedgp {shown(written_by)} with schema version {schema}, and this treedgp reads "
        f"versions up to {SCHEMA_VERSION}: upgrade treedgp",
    )
    short = isinstance(written_by, str) and len(written_by) <= 40 and written_by.isascii() and written_by.isprintable()
    _require(short, f"its meta must have a short text 'treedgp_version', got {shown(written_by)}")
    described = meta.get("arrays")
    named = isinstance(described, dict) and all(map(_is_name, described))
    _require(named, "its meta does not describe its arrays")
    return dict(meta)


def _read_described(
    archive: zipfile.ZipFile, entries: Mapping[str, zipfile.ZipInfo], name: str, described: Any
) -> NDArray[Any]:
    _require(
        isinstance(described, dict) and set(described) == {"dtype", "shape", "sha256"},
        f"its meta must give dtype, shape and sha256 of array {name!r}",
    )
    dtype, shape = described["dtype"], described["shape"]
    _require(dtype in DTYPES, f"array {name!r} has dtype {shown(dtype)}, expected one of {', '.join(DTYPES)}")
    _require(
        isinstance(shape, list) and len(shape) <= MAX_AXES and all(type(n) is int and n >= 0 for n in shape),
        f"the shape of array {name!r} must be a list of up to {MAX_AXES} integers",
    )
    values = _read_entry(archive, entries[f"{name}.npy"], dtype, tuple(shape))
    same = hashlib.sha256(_bytes_of(values)).hexdigest() == described["sha256"]
    _require(same, f"array {name!r} does not have the checksum in meta: the file has changed since it was written")
    if dtype == "|b1":
        _require(bool((values.view(np.uint8) <= 1).all()), f"array {name!r} has truth values other than 0 and 1")
    return values


def _read_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """The array, if the entry is exactly that; zipfile checks its CRC on the way."""
    item = np.dtype(dtype).itemsize
    extent = item * math.prod(max(n, 1) for n in shape)
    _require(extent <= MAX_BYTES, f"{entry.filename!r} has the impossible shape {shape}")
    header, length = _npy_header(dtype, shape), item * math.prod(shape)
    claimed = f"the array of type {dtype} and shape {shape} that meta describes"
    _require(entry.file_size == len(header) + length, f"{entry.filename!r} does not have the size of {claimed}")
    with archive.open(entry) as stream:
        _require(stream.read(len(header)) == header, f"{entry.filename!r} is not {claimed}")
        values: NDArray[Any] = np.empty(shape, dtype)
        target, done = _bytes_of(values), 0
        while done < length:
            piece = stream.read(min(MAX_READ, length - done))
            _require(len(piece) > 0, f"{entry.filename!r} is cut short")
            target[done : done + len(piece)] = piece
            done += len(piece)
    return values


def _encode(value: Any, sort_keys: bool = False) -> bytes:
    try:
        text = json.dumps(value, sort_keys=sort_keys, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise FormatError(f"meta must consist of JSON types with finite numbers: {error}") from error
    _require(len(text) <= MAX_META_BYTES, f"meta must have at most {MAX_META_BYTES} bytes as JSON, got {len(text)}")
    return text


def _decode(text: bytes) -> Any:
    try:
        value = json.loads(text.decode("ascii"), parse_int=_integer, parse_float=_finite, parse_constant=_finite)
    except FormatError:
        raise
    except (ValueError, RecursionError) as error:
        raise FormatError(f"its meta is not JSON: {error}") from error
    _require(_is_shallow(value), f"its meta is nested more than {MAX_NESTING} deep")
    return value


def _is_shallow(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_NESTING):
        level = [
            child for v in level for child in (v.values() if isinstance(v, dict) else v if isinstance(v, list) else ())
        ]
        if not level:
            return True
    return False


def _integer(digits: str) -> int:
    _require(len(digits) <= 20 and -(2**63) <= int(digits) < 2**64, "its meta has an integer of more than 64 bits")
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    _require(math.isfinite(value), f"its meta has a number that is not finite: {digits:.20}")
    return value
