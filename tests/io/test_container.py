"""The file container: what is written is read; anything else is a FormatError, and nothing worse."""

import hashlib
import io as streams
import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import treedgp
from treedgp import (
    CoefficientPrior,
    ConfigError,
    FormatError,
    LengthscalePrior,
    LimitingPrior,
    NoisePrior,
    NuggetPrior,
    Priors,
    TreePrior,
)
from treedgp.model.priors_json import priors_from_json, priors_to_json
from treedgp.posterior import io

META = {"kind": "test", "seed": 2**64 - 1, "low": -(2**63), "half": 0.1, "none": None, "names": ["ä", "b"], "on": True}
ARRAYS = {
    "flags": np.array([True, False]),
    "draws/x": np.arange(6.0).reshape(2, 3),
    "draws/empty": np.empty((0, 4)),
    "scalar": np.array(7, dtype=np.int32),
}
fuzzed = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.npz"


def same(found, expected):
    return list(found) == list(expected) and all(
        found[k].dtype == v.dtype and found[k].shape == v.shape and found[k].tobytes() == v.tobytes()
        for k, v in expected.items()
    )


def contents(meta=None, arrays=None):
    """The bytes of a file, as `write` makes them."""
    text = io._encode({**META, **io._own_meta(ARRAYS), **(meta or {})})
    return zipped({"meta": np.frombuffer(text, np.uint8), **(ARRAYS if arrays is None else arrays)})


def zipped(arrays):
    file = streams.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, values in arrays.items():
            io._add(archive, name, values)
    return file.getvalue()


def refused(path, data, match=None):
    path.write_bytes(data)
    with pytest.raises(FormatError, match=match) as caught:
        io.read(path)
    assert path.name in str(caught.value)


# --- round trips ---


@pytest.mark.parametrize("dtype", io.DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (5,), (0, 3), (3, 0), (2, 3), (2, 1, 3, 2)])
def test_every_type_and_shape_comes_back(path, dtype, shape):
    values = np.random.default_rng(0).integers(0, 2, size=shape).astype(dtype)
    io.write(path, {}, {"a": values})
    found = io.read(path)[1]["a"]
    assert found.dtype == values.dtype
    assert found.shape == shape
    assert found.tobytes() == values.tobytes()
    assert found.flags.writeable
    assert found.flags.c_contiguous


@fuzzed
@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0)))
def test_every_number_comes_back_bit_for_bit(tmp_path, values):
    io.write(tmp_path / "f", {}, {"a": values})
    assert same(io.read(tmp_path / "f")[1], {"a": values})


def test_meta_comes_back_and_says_who_wrote_it(path):
    io.write(path, META, ARRAYS)
    meta, arrays = io.read(path)
    own = {"format": "treedgp", "schema_version": 1, "treedgp_version": treedgp.__version__}
    assert meta == META | own
    assert same(arrays, ARRAYS)


@pytest.mark.parametrize("change", [np.asfortranarray, lambda a: a[::-1, ::2], lambda a: a.astype(">f8")])
def test_any_memory_order_is_written(path, change):
    values = change(np.arange(12.0).reshape(3, 4))
    io.write(path, {}, {"a": values})
    found = io.read(path)[1]["a"]
    assert np.array_equal(found, values)
    assert found.dtype == np.dtype("<f8")


def test_numpy_reads_it_too(path):
    io.write(path, META, ARRAYS)
    with np.load(path, allow_pickle=False) as file:
        assert json.loads(file["meta"].tobytes())["kind"] == "test"
        assert same({name: file[name] for name in ARRAYS}, ARRAYS)


def test_the_same_contents_give_the_same_file(path):
    io.write(path, META, ARRAYS)
    first = path.read_bytes()
    io.write(path, META, ARRAYS)
    assert path.read_bytes() == first == contents()


def test_an_array_above_the_reading_size_comes_back(path, monkeypatch):
    monkeypatch.setattr(io, "MAX_READ", 5000)
    values = np.arange(3001.0)
    io.write(path, {}, {"a": values})
    assert same(io.read(path)[1], {"a": values})


def test_files_above_2_gib_come_back_too(path, monkeypatch):
    """The 64-bit records of a zip, forced by pretending that 32 bits end early."""
    io.write(path, META, ARRAYS)
    small = path.stat().st_size
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 100)
    monkeypatch.setattr(io, "ZIP64_FROM", 0)
    io.write(path, META, ARRAYS)
    monkeypatch.undo()
    assert path.stat().st_size > small
    assert b"PK\6\6" in path.read_bytes()
    assert same(io.read(path)[1], ARRAYS)


# --- what cannot be written ---


@pytest.mark.parametrize(
    ("meta", "arrays", "match"),
    [
        ({"arrays": "mine"}, {}, "leave the keys"),
        ({"a": np.arange(3)}, {}, "JSON types"),
        ({"a": float("nan")}, {}, "JSON types"),
        ({"a": 2**64}, {}, "64 bits"),
        ({}, {"a": np.array([None])}, "must hold numbers"),
        ({}, {"a": np.array(["text"])}, "must hold numbers"),
        ({}, {"a": np.zeros(2, complex)}, "must hold numbers"),
        ({}, {"a": np.zeros(2, [("x", float)])}, "must hold numbers"),
        ({}, {"a": np.zeros((1,) * 9)}, "axes"),
        ({}, {"meta": np.zeros(2)}, "name"),
        ({}, {"../up": np.zeros(2)}, "name"),
        ({}, {"": np.zeros(2)}, "name"),
        ({}, {"a" * 101: np.zeros(2)}, "name"),
    ],
)
def test_what_cannot_be_read_is_not_written(path, meta, arrays, match):
    path.write_bytes(b"before")
    with pytest.raises(FormatError, match=match):
        io.write(path, meta, arrays)
    assert path.read_bytes() == b"before"
    assert len(list(path.parent.iterdir())) == 1


# --- atomic ---


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_a_failure_leaves_the_old_file_and_nothing_else(path, monkeypatch, step, error):
    io.write(path, {"version": 1}, ARRAYS)

    def fail(*_):
        raise error

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(type(error)):
        io.write(path, {"version": 2}, ARRAYS)
    monkeypatch.undo()
    assert io.read(path)[0]["version"] == 1
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_the_file_is_on_disk_before_it_gets_its_name(path, monkeypatch):
    calls = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *a, real=real, name=name: (calls.append(name), real(*a))[1])
    io.write(path, {}, ARRAYS)
    assert calls[:2] == ["fsync", "replace"]


def test_leftovers_of_a_killed_writer_do_not_hurt(path):
    (path.parent / ".treedgp-0123456789abcdef.tmp").write_bytes(b"torn")
    io.write(path, META, ARRAYS)
    assert same(io.read(path)[1], ARRAYS)


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions and links")
def test_permissions_and_links_are_kept(path):
    io.write(path, {"version": 1}, {})
    path.chmod(0o600)
    link = path.with_name("link")
    link.symlink_to(path)
    io.write(link, {"version": 2}, {})
    assert link.is_symlink()
    assert io.read(path)[0]["version"] == 2
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_folder_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(ConfigError, match="nowhere"):
        io.write(tmp_path / "nowhere" / "model.npz", {}, {})


KILLED = """
import os, random, signal, sys, time
import numpy as np
from treedgp.posterior import io

path, random_state = sys.argv[1], random.Random(0)
arrays = {"a": np.zeros(200_000)}
io.write(path, {"count": 0}, arrays)
for _ in range(40):
    begin = io.read(path)[0]["count"]
    child = os.fork()
    if child == 0:
        count = begin
        while True:
            count += 1
            io.write(path, {"count": count}, {"a": np.full(200_000, float(count))})
    time.sleep(random_state.uniform(0.001, 0.03))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    meta, found = io.read(path)
    assert meta["count"] >= begin and (found["a"] == meta["count"]).all()
print(meta["count"], len([f for f in os.listdir(os.path.dirname(path)) if f.endswith(".tmp")]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the writer is a forked process")
def test_kill_9_at_any_moment_leaves_a_whole_file(path):
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    written, killed_while_writing = map(int, done.stdout.split())
    assert written > 0
    assert killed_while_writing > 0
    assert io.read(path)[0]["count"] == written


# --- damage ---


def test_any_flipped_byte_is_noticed_or_means_nothing(path):
    data = contents()
    unnoticed = 0
    for i in range(len(data)):
        for mask in (0x01, 0x80, 0xFF):
            path.write_bytes(data[:i] + bytes([data[i] ^ mask]) + data[i + 1 :])
            try:
                meta, arrays = io.read(path)
            except FormatError:
                continue
            unnoticed += 1
            assert same(arrays, ARRAYS)
            assert {name: meta[name] for name in META} == META
    assert unnoticed < 0.2 * 3 * len(data)  # dates and attributes in the zip


def test_every_byte_of_contents_is_watched(path):
    """No flip in the JSON or in an array goes unnoticed."""
    data = contents()
    with zipfile.ZipFile(streams.BytesIO(data)) as archive:
        spans = [(e.header_offset + 30 + len(e.filename), e.file_size) for e in archive.infolist()]
    assert sum(size for _, size in spans) > 1000
    for begin, size in spans:
        for i in range(begin, begin + size):
            refused(path, data[:i] + bytes([data[i] ^ 0x10]) + data[i + 1 :])


def test_every_truncation_is_noticed(path):
    data = contents()
    for length in range(len(data)):
        refused(path, data[:length])


def test_bytes_after_the_end_are_noticed(path):
    refused(path, contents() + b"x")


@fuzzed
@given(st.binary(max_size=300))
def test_random_bytes_are_refused(tmp_path, data):
    refused(tmp_path / "f", data)


@fuzzed
@given(st.data())
def test_random_damage_is_refused_or_harmless(tmp_path, data):
    damaged = bytearray(contents())
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        piece = data.draw(st.binary(min_size=0, max_size=6))
        damaged[at : at + data.draw(st.integers(0, 6))] = piece
    (tmp_path / "f").write_bytes(damaged)
    try:
        _, arrays = io.read(tmp_path / "f")
    except FormatError:
        return
    assert same(arrays, ARRAYS)


# --- hostile files ---


def test_other_files_are_refused(path):
    refused(path, b"", "cut short")
    refused(path, b"PK\x05\x06" + b"\0" * 18, "no entry 'meta.npy'")
    refused(path, b"a,b\n" * 100_000, "cut short")
    np.savez(path, x=np.zeros(3))
    refused(path, path.read_bytes(), "no entry 'meta.npy'")


def test_folders_and_devices_are_refused(tmp_path):
    with pytest.raises(FormatError, match="regular file"):
        io.read(tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(FormatError, match="regular file"):
            io.read(tmp_path / "pipe")


def test_a_missing_file_is_an_error_of_the_system(path):
    with pytest.raises(FileNotFoundError):
        io.read(path)


class Malicious:
    def __reduce__(self):
        return (os.mkdir, (os.environ["TREEDGP_TEST_TRAP"],))


@pytest.mark.parametrize("claimed", ["|O", "<f8"])
def test_objects_are_refused_and_never_run(path, monkeypatch, claimed):
    trap = path.with_name("trap")
    monkeypatch.setenv("TREEDGP_TEST_TRAP", str(trap))
    objects = np.array([Malicious()])
    np.savez(path, a=objects)
    with zipfile.ZipFile(path) as archive:
        pickled = archive.read("a.npy")
    described = {"a": {"dtype": claimed, "shape": [1], "sha256": "0" * 64}}
    text = io._encode({**META, **io._own_meta({}), "arrays": described})
    with zipfile.ZipFile(path, "w") as archive:
        io._add(archive, "meta", np.frombuffer(text, np.uint8))
        archive.writestr("a.npy", pickled)
    refused(path, path.read_bytes(), "dtype" if claimed == "|O" else "does not have the size")
    assert not trap.exists()
    np.load(path, allow_pickle=True)["a"]
    assert trap.exists()  # it was a working trap


def test_compressed_entries_are_refused(path):
    """A bomb needs compression."""
    text = io._encode({**META, **io._own_meta({"a": np.zeros(10**6)})})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("meta.npy", io._npy_header("|u1", (len(text),)) + text)
        archive.writestr("a.npy", io._npy_header("<f8", (10**6,)) + bytes(8 * 10**6))
    assert path.stat().st_size < 20_000
    refused(path, path.read_bytes(), "compressed")


def directory_field(data, name, offset, value):
    """Overwrites a field in the zip directory's record of an entry."""
    at = data.rindex(name.encode()) - 46
    assert data[at : at + 4] == b"PK\x01\x02"
    return data[: at + offset] + value + data[at + offset + len(value) :]


def test_sizes_that_the_file_cannot_hold_are_refused(path):
    huge = (2**31).to_bytes(4, "little")
    data = contents()
    for name in ("meta.npy", "draws/x.npy"):
        lying = directory_field(directory_field(data, name, 20, huge), name, 24, huge)
        refused(path, lying, "more bytes than it has")


def test_entries_that_share_their_bytes_are_refused(path):
    """Many names for one stretch of the file multiply its size."""
    data = zipped({"meta": np.zeros(5000, np.uint8)})
    at = data.index(b"PK\x01\x02")
    record, count = data[at : data.index(b"PK\x05\x06")], 50
    records = b"".join(record.replace(b"meta.npy", f"me{i:02d}.npy".encode()) for i in range(count))
    end = b"PK\x05\x06\0\0\0\0" + count.to_bytes(2, "little") * 2
    end += len(records).to_bytes(4, "little") + at.to_bytes(4, "little") + b"\0\0"
    refused(path, data[:at] + records + end, "more bytes than it has")


def test_a_huge_directory_is_never_loaded(path):
    size = io.MAX_READ + 46
    end = b"PK\x05\x06\0\0\0\0\xff\xff\xff\xff" + size.to_bytes(4, "little") + b"\0" * 6
    refused(path, bytes(size) + end, "its directory claims")


@pytest.mark.parametrize(
    ("described", "match"),
    [
        ({"dtype": "<f8", "shape": [2**62, 2**62], "sha256": ""}, "impossible shape"),
        ({"dtype": "<f8", "shape": [0, 2**62], "sha256": ""}, "impossible shape"),
        ({"dtype": "<f8", "shape": [10**9], "sha256": ""}, "does not have the size"),
        ({"dtype": "<f8", "shape": [3, 2], "sha256": ""}, "is not the array"),
        ({"dtype": "<i8", "shape": [2, 3], "sha256": ""}, "is not the array"),
        ({"dtype": "<f8", "shape": [2, 3], "sha256": "0" * 64}, "checksum"),
        ({"dtype": "<f8", "shape": [2, 3], "sha256": None}, "checksum"),
        ({"dtype": "<f8", "shape": [-2, -3], "sha256": ""}, "list of up to"),
        ({"dtype": "<f8", "shape": [2.0, 3], "sha256": ""}, "list of up to"),
        ({"dtype": "<f8", "shape": [True, 6], "sha256": ""}, "list of up to"),
        ({"dtype": "<f8", "shape": [1] * 9, "sha256": ""}, "list of up to"),
        ({"dtype": "<f8", "shape": 6, "sha256": ""}, "list of up to"),
        ({"dtype": "|O8", "shape": [6], "sha256": ""}, "dtype"),
        ({"dtype": ">f8", "shape": [2, 3], "sha256": ""}, "dtype"),
        ({"dtype": ["<f8"], "shape": [2, 3], "sha256": ""}, "dtype"),
        ({"dtype": "<f8", "shape": [2, 3]}, "dtype, shape and sha256"),
        ([], "dtype, shape and sha256"),
    ],
)
def test_descriptions_that_do_not_fit_are_refused(path, described, match):
    arrays = io._own_meta(ARRAYS)["arrays"] | {"draws/x": described}
    refused(path, contents({"arrays": arrays}), match)


@pytest.mark.parametrize("arrays", [None, [], "x", {"../x": {}}, {"meta": {}}])
def test_a_table_of_arrays_that_is_none_is_refused(path, arrays):
    refused(path, contents({"arrays": arrays}), "does not describe its arrays")


def test_missing_and_additional_entries_are_refused(path):
    fewer = {name: ARRAYS[name] for name in list(ARRAYS)[1:]}
    refused(path, contents(arrays=fewer), "flags")
    refused(path, contents(arrays=ARRAYS | {"more": np.zeros(1)}), "more")
    twice = streams.BytesIO(contents())
    with zipfile.ZipFile(twice, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        io._add(archive, "flags", ARRAYS["flags"])
    refused(path, twice.getvalue(), "same name")


def test_truth_values_are_0_or_1(path):
    lying = np.array([2, 0], dtype=np.uint8)
    arrays = io._own_meta(ARRAYS)["arrays"]
    arrays["flags"]["sha256"] = hashlib.sha256(lying.tobytes()).hexdigest()
    refused(path, contents({"arrays": arrays}, ARRAYS | {"flags": lying.view(bool)}), "truth values")


@pytest.mark.parametrize(
    ("meta", "match"),
    [
        ({"format": "other"}, "format is 'treedgp'"),
        ({"format": None}, "format is 'treedgp'"),
        ({"schema_version": 2, "treedgp_version": "9.0"}, r"'9\.0' with schema version 2.*upgrade"),
        ({"schema_version": 0}, "at least 1"),
        ({"schema_version": "1"}, "at least 1"),
        ({"schema_version": True}, "at least 1"),
        ({"schema_version": None}, "at least 1"),
        ({"treedgp_version": {}}, "short text 'treedgp_version'"),
        ({"treedgp_version": "x" * 1000}, "short text 'treedgp_version'"),
        ({"treedgp_version": "\x1b[2J"}, "short text 'treedgp_version'"),
    ],
)
def test_files_of_others_and_of_the_future_are_refused(path, meta, match):
    refused(path, contents(meta), match)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[" * 30 + b"]" * 30, "nested"),
        (b"[]", "format is 'treedgp'"),
        (b"1" * 100_000, "64 bits"),
        (b"-9223372036854775809", "64 bits"),
        (b"NaN", "not finite"),
        (b"[1e999]", "not finite"),
        (b"-Infinity", "not finite"),
    ],
    ids=range(11),
)
def test_meta_that_is_not_ours_is_refused(path, text, match):
    refused(path, zipped({"meta": np.frombuffer(text, np.uint8)}), match)


@pytest.mark.parametrize("values", [np.zeros((2, 2), np.uint8), np.zeros(3, np.int32), np.array(1, np.uint8)])
def test_meta_of_another_type_is_refused(path, values):
    refused(path, zipped({"meta": values}), "meta")


# --- digests ---


def test_a_digest_knows_everything_but_the_order_of_names():
    base = io.digest({"a": 1, "b": 2}, {"x": np.zeros(4), "y": np.ones(2)})
    assert len(base) == 64
    assert base == io.digest({"b": 2, "a": 1}, {"y": np.ones(2), "x": np.zeros(4)})
    others = [
        io.digest({"a": 1, "b": 3}, {"x": np.zeros(4), "y": np.ones(2)}),
        io.digest({"a": 1}, {"x": np.zeros(4), "y": np.ones(2)}),
        io.digest({"a": 1, "b": 2}, {"x": np.zeros((2, 2)), "y": np.ones(2)}),
        io.digest({"a": 1, "b": 2}, {"x": np.zeros(4, np.int64), "y": np.ones(2)}),
        io.digest({"a": 1, "b": 2}, {"x": np.zeros(4), "z": np.ones(2)}),
        io.digest({"a": 1, "b": 2}, {"x": np.zeros(4)}),
        io.digest({"a": 1, "b": 2}, {"x": np.array([0, 0, 0, 1e-300]), "y": np.ones(2)}),
    ]
    assert len({base, *others}) == 8


# --- priors ---

PRIORS = [
    Priors(),
    Priors(
        tree=TreePrior(alpha=0.9, beta=0.0, min_leaf=5, max_depth=3),
        lengthscale=LengthscalePrior(fixed=0.3),
        nugget=NuggetPrior(weights=(1.0, 2.0), shapes=(1.0, 3.0), rates=(2.0, 1.0)),
        noise=NoisePrior(a=1.0, g=2.0, rates=None),
        coefficients=CoefficientPrior(kind="fixed", tau2=2.0),
        limiting=LimitingPrior(gamma=5.0, theta1=0.1, theta2=0.5),
    ),
    Priors(coefficients=CoefficientPrior(kind="flat")),
    Priors(lengthscale=LengthscalePrior(alike=5.0), nugget=NuggetPrior(rates=(10**10,))),  # too large for a count
]


@pytest.mark.parametrize("priors", PRIORS)
def test_priors_come_back(priors):
    assert priors_from_json(json.loads(json.dumps(priors_to_json(priors)))) == priors


def test_priors_of_numpy_numbers_come_back():
    priors = Priors(tree=TreePrior(alpha=np.float32(0.5), min_leaf=np.int64(4)))
    assert priors_from_json(json.loads(json.dumps(priors_to_json(priors)))) == priors


def test_priors_of_another_class_are_not_written():
    class Mine(NuggetPrior):
        pass

    with pytest.raises(FormatError, match="got Mine"):
        priors_to_json(Priors(nugget=Mine()))


def changed(part, **settings):
    value = priors_to_json(Priors())
    (value if part is None else value[part]).update(settings)
    return value


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        "Priors",
        {},
        {"class": "Priors"},
        {"class": ["Priors"]},
        {"class": "TreePrior", "alpha": 0.5, "beta": 2.0, "min_leaf": None, "max_depth": None},
        changed(None, **{"class": "object"}),
        changed(None, tree=None),
        changed(None, tree=priors_to_json(Priors())),
        changed(None, more=1),
        changed("tree", **{"class": "NuggetPrior"}),
        changed("tree", **{"class": "os.system"}),
        changed("tree", alpha=2.0),
        changed("tree", alpha="0.5"),
        changed("tree", alpha=True),
        changed("tree", alpha=None),
        changed("tree", beta=float("inf")),
        changed("tree", min_leaf=2**40),
        changed("tree", min_leaf=10**400),
        changed("tree", more=1),
        changed("nugget", weights=[[1.0]]),
        changed("nugget", weights=[10**400]),
        changed("nugget", weights=1.0),
        changed("nugget", weights={"class": "Priors"}),
        changed("noise", rates=[1.0]),
        changed("coefficients", kind="other"),
        changed("coefficients", kind=["flat"]),
    ],
    ids=lambda value: str(value)[-40:],
)
def test_other_priors_are_refused(value):
    with pytest.raises(FormatError, match="priors: "):
        priors_from_json(value)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@fuzzed
@given(st.sampled_from([*priors_to_json(Priors())][1:]), st.data())
def test_any_setting_of_a_prior_is_valid_or_refused(part, data):
    value = priors_to_json(Priors())
    value[part][data.draw(st.sampled_from([*value[part]]))] = data.draw(json_values)
    try:
        priors = priors_from_json(value)
    except FormatError:
        return
    assert isinstance(priors, Priors)
