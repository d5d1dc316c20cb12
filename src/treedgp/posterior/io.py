"""The file format: one npz of plain numbers and JSON, without pickle, written atomically and read with suspicion.

An entry is stored uncompressed, so that no file can claim more memory than its own size. The first entry, `meta`,
names the type, shape and SHA-256 of every other one; a file that differs from what it says is refused.
"""

from __future__ import annotations

import contextlib
import errno
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
from collections.abc import Mapping, Sequence
from dataclasses import fields
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import treedgp._core as _core
from treedgp.errors import ConfigError, FormatError
from treedgp.model.priors import (
    CoefficientPrior,
    LengthscalePrior,
    LimitingPrior,
    NoisePrior,
    NuggetPrior,
    Priors,
    TreePrior,
)
from treedgp.model.spec import SCALAR_MOVES
from treedgp.posterior.draws import Arrays

FORMAT = "treedgp"
SCHEMA_VERSION = 1  # raise it when the meaning of a file changes; older ones must keep loading
OWN_KEYS = ("format", "schema_version", "treedgp_version", "isa", "arrays")

DTYPES = ("|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f4", "<f8")
NAME = re.compile(r"[A-Za-z0-9_]+([./-][A-Za-z0-9_]+)*")
MAX_BYTES = 8 * 2**30
MAX_META_BYTES = 16 * 2**20
MAX_READ = 4 * 2**20  # at once; it also bounds the directory of the zip
MAX_ARRAYS = 16_384
ZIP64_FROM = 2**30  # bytes of an entry that get 64-bit records; zipfile needs them from 2**31
END_BYTES = 22  # of a zip file without a comment: the record that points to its directory
MAX_NAME = 100
MAX_AXES = 8
MAX_NESTING = 20  # of meta

PRIOR_CLASSES: dict[str, type] = {
    kind.__name__: kind
    for kind in (Priors, TreePrior, LengthscalePrior, NuggetPrior, NoisePrior, CoefficientPrior, LimitingPrior)
}
MAX_INTEGER = 2**31 - 1  # of a prior's setting; the core counts in 32 bits
DEPTH_LIMIT = 60  # of a tree, as in the core


# --- the container ---


def write(path: str | os.PathLike[str], meta: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Replaces the file at `path` by one that holds `meta` (JSON types) and `arrays` (numbers).

    Whatever happens meanwhile, `path` holds the old file or the new one.
    """
    taken = sorted(set(meta) & set(OWN_KEYS))
    _require(not taken, f"meta must leave the keys {', '.join(OWN_KEYS)} to the file, got {', '.join(taken)}")
    _require(len(arrays) <= MAX_ARRAYS, f"expected at most {MAX_ARRAYS} arrays, got {len(arrays)}")
    stored = {name: _plain_array(name, values) for name, values in arrays.items()}
    total, limit = sum(values.nbytes for values in stored.values()), MAX_BYTES - 2 * MAX_META_BYTES
    _require(total <= limit, f"at most {limit} bytes can be saved, got {total}: keep fewer draws")
    text = _encode({**meta, **_own_meta(stored)})
    _decode(text)  # what cannot be read back is not written

    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "No such folder to write to; make it first", str(target.parent))
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
    """What `write` was given; meta also has `format`, `schema_version`, `treedgp_version` and `isa`.

    FormatError for a file that is anything but whole and genuine; OSError if it cannot be opened.
    """
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        raise FormatError(f"{path} is not a regular file. Give the path of a file that treedgp has written.")
    with _BoundedFile(path) as file:
        try:
            _require(status.st_size <= MAX_BYTES, f"it has {status.st_size} bytes, more than {MAX_BYTES}")
            file.seek(max(0, status.st_size - END_BYTES))
            _require(file.read(4) == b"PK\5\6", "it does not end as it should: it is cut short, or not treedgp's")
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
    own = (FORMAT, SCHEMA_VERSION, __version__, _core.isa(), described)
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
        type(schema) is int and schema >= 1, f"schema_version must be an integer of at least 1, got {_shown(schema)}"
    )
    _require(
        schema <= SCHEMA_VERSION,
        f"it was written by treedgp {_shown(written_by)} with schema version {schema}, and this treedgp reads "
        f"versions up to {SCHEMA_VERSION}: upgrade treedgp",
    )
    for key in ("treedgp_version", "isa"):
        text = meta.get(key)
        short = isinstance(text, str) and len(text) <= 40 and text.isascii() and text.isprintable()
        _require(short, f"its meta must have a short text {key!r}, got {_shown(text)}")
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
    _require(dtype in DTYPES, f"array {name!r} has dtype {_shown(dtype)}, expected one of {', '.join(DTYPES)}")
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


# --- JSON ---


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


def _shown(value: Any) -> str:
    """For a message: never long, never deep."""
    return type(value).__name__ if isinstance(value, dict | list) else repr(value)[:80]


def _integer(digits: str) -> int:
    _require(len(digits) <= 20 and -(2**63) <= int(digits) < 2**64, "its meta has an integer of more than 64 bits")
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    _require(math.isfinite(value), f"its meta has a number that is not finite: {digits:.20}")
    return value


def priors_to_json(priors: Priors) -> dict[str, Any]:
    """Class names and fields, as JSON."""
    return _prior_to_json(priors)


def priors_from_json(value: Any) -> Priors:
    """The inverse of `priors_to_json`; FormatError for anything else."""
    kind, settings = _opened(value)
    _require(kind is Priors, f"priors: expected an object of class Priors, got {kind.__name__}")
    priors: Priors = _built(kind, {name: _part_from_json(part) for name, part in settings.items()})
    return priors


def _prior_to_json(prior: Any) -> dict[str, Any]:
    name = type(prior).__name__
    _require(
        PRIOR_CLASSES.get(name) is type(prior),
        f"priors: only {', '.join(PRIOR_CLASSES)} can be saved, got {name}: use one of these",
    )
    return {"class": name, **{part.name: _setting_to_json(getattr(prior, part.name)) for part in fields(prior)}}


def _setting_to_json(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, tuple | list):
        return [_setting_to_json(v) for v in value]
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    return _prior_to_json(value)


def _opened(value: Any) -> tuple[type, dict[str, Any]]:
    """Class and settings."""
    _require(isinstance(value, dict), f"priors: expected an object with a class, got {_shown(value)}")
    name = value.get("class")
    _require(
        isinstance(name, str) and name in PRIOR_CLASSES,
        f"priors: expected one of the classes {', '.join(PRIOR_CLASSES)}, got {_shown(name)}",
    )
    kind, settings = PRIOR_CLASSES[name], {key: v for key, v in value.items() if key != "class"}
    wrong = sorted({part.name for part in fields(kind)} ^ set(settings))
    _require(not wrong, f"priors: {name} lacks, or does not have, the setting(s) {_shown(', '.join(wrong))}")
    return kind, settings


def _built(kind: type, settings: dict[str, Any]) -> Any:
    try:
        return kind(**settings)
    except ConfigError as error:
        raise FormatError(f"priors: {error}") from error


def _part_from_json(value: Any) -> Any:
    kind, settings = _opened(value)
    _require(kind is not Priors, "priors: expected parts of Priors, got Priors inside Priors")
    return _built(kind, {name: _setting_from_json(setting) for name, setting in settings.items()})


def _setting_from_json(value: Any) -> Any:
    if isinstance(value, list):
        _require(all(map(_is_usual, value)), "priors: expected a list of numbers of usual size")
        return tuple(value)
    allowed = value is None or isinstance(value, str) or _is_usual(value)
    _require(allowed, f"priors: expected a number of usual size, a text or null, got {_shown(value)}")
    return value


def _is_usual(value: Any) -> bool:
    return type(value) is float or (type(value) is int and abs(value) <= MAX_INTEGER)


# --- draws ---


def check_draws(
    arrays: Mapping[str, NDArray[Any]],
    n_range: int,
    m: int,
    sizes: Sequence[int],
    n_draws: int,
    categorical: Sequence[bool] | None = None,
) -> None:
    """FormatError unless `arrays` hold draws of a model with `n_range` ranges and `m` coefficients a leaf.

    `sizes` are those of the split columns: distinct values or levels. A numeric column has a cut less than values;
    without `categorical` that is not checked.
    """
    start = _shaped(arrays, "node_start", np.int64, (n_draws + 1,))
    nodes = len(_shaped(arrays, "column", np.int32, (None,)))
    rising = start[0] == 0 and start[-1] == nodes and (start[1:] > start[:-1]).all()
    _require(
        bool(rising) and bool((np.diff(start) % 2 == 1).all()),
        f"draws: node_start must rise from 0 to the {nodes} nodes by odd numbers, a tree's count of nodes",
    )
    leaves = (nodes + n_draws) // 2
    positive = {"range": (leaves, n_range), "sigma2": (leaves,), "tau2": (leaves,), "hyper": (n_draws, 4)}
    finite = {"beta": (leaves, m), "beta0": (n_draws, m), "log_posterior": (n_draws,)}
    for name, shape in positive.items():
        _require_all(name, _numbers(arrays, name, shape) > 0, "be positive")
    for name, shape in finite.items():
        _numbers(arrays, name, shape)
    _require_all("nugget", _numbers(arrays, "nugget", (leaves,)) >= 0, "not be negative")
    _require_all("gp", _shaped(arrays, "gp", np.uint8, (leaves, n_range)) <= 1, "be 0 or 1")
    diagonal = np.cumsum([0, *range(m, 1, -1)])  # the lower triangle by column
    _require_all(
        "w_inv", _numbers(arrays, "w_inv", (n_draws, m * (m + 1) // 2))[:, diagonal] > 0, "have a positive diagonal"
    )

    column, cut = arrays["column"], _shaped(arrays, "cut", np.int32, (nodes,))
    _check_rules(column, cut, sizes, categorical)
    _check_preorder(start, column >= 0)


def check_state(
    arrays: Mapping[str, NDArray[Any]],
    n_range: int,
    m: int,
    sizes: Sequence[int],
    categorical: Sequence[bool] | None = None,
) -> None:
    """The same for where a chain stands: one draw, and the scales of its random walks."""
    check_draws(arrays, n_range, m, sizes, 1, categorical)
    _numbers(arrays, "log_step", (len(SCALAR_MOVES),))


def _shaped(arrays: Mapping[str, NDArray[Any]], name: str, dtype: type, shape: tuple[int | None, ...]) -> NDArray[Any]:
    _require(name in arrays, f"draws: the array {name!r} is missing")
    values = arrays[name]
    same = values.ndim == len(shape) and all(wanted in (None, n) for wanted, n in zip(shape, values.shape, strict=True))
    _require(
        same and values.dtype == dtype,
        f"draws: {name!r} must be {np.dtype(dtype)} of shape {shape}, got {values.dtype} of shape {values.shape}",
    )
    return values


def _numbers(arrays: Mapping[str, NDArray[Any]], name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    values = _shaped(arrays, name, np.float64, shape)
    _require_all(name, np.isfinite(values), "be finite")
    return values


def _require_all(name: str, holds: NDArray[np.bool_], wanted: str) -> None:
    _require(bool(holds.all()), f"draws: {name!r} must {wanted}, but {np.count_nonzero(~holds)} value(s) are not so")


def _check_rules(
    column: NDArray[np.int32], cut: NDArray[np.int32], sizes: Sequence[int], categorical: Sequence[bool] | None
) -> None:
    internal = column >= 0
    exists = (column >= -1) & (column < len(sizes))
    _require_all("column", exists, f"lie in -1 .. {len(sizes) - 1}, where -1 is a leaf")
    _require_all("cut", internal | (cut == -1), "be -1 in a leaf")
    cuts = np.asarray(sizes, dtype=np.int64)
    if categorical is not None:
        cuts = cuts - ~np.asarray(categorical, dtype=bool)
    inside = (cut[internal] >= 0) & (cut[internal] < cuts[column[internal]])
    _require_all("cut", inside, "be one of its column's cuts")


def _check_preorder(start: NDArray[np.int64], internal: NDArray[np.bool_]) -> None:
    """A list of nodes is a tree if a node is awaited until the last one, and none after it."""
    awaited = np.cumsum(np.where(internal, 1, -1))
    before = np.concatenate([[0], awaited])[start[:-1]]
    awaited += 1 - np.repeat(before, np.diff(start))
    last = np.zeros(len(internal), dtype=bool)
    last[start[1:] - 1] = True
    _require(bool(((awaited == 0) == last).all()), "draws: a tree's nodes are not a preorder list")
    for i in np.flatnonzero(np.diff(start) > 2 * DEPTH_LIMIT + 1):
        _check_depth(internal[start[i] : start[i + 1]].tolist())


def _check_depth(internal: list[bool]) -> None:
    pending = [0]
    for divides in internal:
        depth = pending.pop()
        _require(depth <= DEPTH_LIMIT, f"draws: a tree is deeper than {DEPTH_LIMIT}")
        if divides:
            pending += [depth + 1, depth + 1]
