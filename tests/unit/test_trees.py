"""Trees read from node arrays: depths, canonical form, the printed text."""

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from treedgp.model.data import CategoricalColumn, NumericColumn
from treedgp.posterior.trees import Forest, Leaf, Split, Tree, canonical, make_tree, threshold_text

LEAF = (-1, -1)


def forest_of(trees):
    """From preorder lists of (column, cut)."""
    nodes = np.array([node for tree in trees for node in tree], dtype=np.int32).reshape(-1, 2)
    starts = np.concatenate([[0], np.cumsum([len(tree) for tree in trees])])
    return Forest(starts, nodes[:, 0], nodes[:, 1])


def trees_of(forest):
    return [forest.rules(draw) for draw in range(len(forest))]


# --- node arrays ---


def test_depth_and_height_of_known_trees():
    root = [LEAF]
    left_deep = [(0, 1), (1, 0), LEAF, (0, 0), LEAF, LEAF, LEAF]
    balanced = [(0, 1), (1, 0), LEAF, LEAF, (1, 1), LEAF, LEAF]
    forest = forest_of([root, left_deep, root, balanced])
    assert forest.depth.tolist() == [0, 0, 1, 2, 2, 3, 3, 1, 0, 0, 1, 2, 2, 1, 2, 2]
    assert forest.height.tolist() == [1, 4, 1, 3]
    assert forest.draw.tolist() == [0] + 7 * [1] + [2] + 7 * [3]
    assert forest.splits_on(3).tolist() == [[0, 0, 0], [1, 1, 0], [0, 0, 0], [1, 1, 0]]


def shapes(depth=5):
    """Preorder lists of random shape."""
    rule = st.tuples(st.integers(0, 3), st.integers(0, 5))
    return st.recursive(
        st.just([LEAF]), lambda below: st.builds(lambda r, a, b: [r, *a, *b], rule, below, below), max_leaves=2**depth
    )


def depths_one_by_one(tree):
    out, pending = [], [0]
    for column, _ in tree:
        depth = pending.pop()
        out.append(depth)
        if column >= 0:
            pending += [depth + 1, depth + 1]
    assert not pending
    return out


@given(st.lists(shapes(), min_size=1, max_size=6))
def test_depth_is_what_a_walk_over_the_preorder_list_gives(trees):
    forest = forest_of(trees)
    depths = [depths_one_by_one(tree) for tree in trees]
    assert forest.depth.tolist() == list(itertools.chain(*depths))
    assert forest.height.tolist() == [1 + max(d) for d in depths]


# --- canonical form ---

N_ROWS = 400
COLUMNS = [
    NumericColumn.learn("size", np.arange(8.0)),
    CategoricalColumn("colour", np.arange(4.0), ("red", "green", "blue", "grey")),
    CategoricalColumn("side", np.arange(2.0), ("left", "right")),
]


def random_codes(seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.integers(column.size, size=N_ROWS) for column in COLUMNS]).astype(np.int32)


def test_two_levels_in_all_the_data_are_mirrored():
    one, other = [(2, 0), (0, 3), LEAF, LEAF, LEAF], [(2, 1), LEAF, (0, 3), LEAF, LEAF]
    forest = canonical(forest_of([one, other]), COLUMNS, random_codes())
    assert trees_of(forest) == [one, one]


def test_two_levels_left_below_a_split_are_mirrored():
    below = [(1, 0), (0, 3), LEAF, LEAF, LEAF], [(1, 2), LEAF, (0, 3), LEAF, LEAF]
    one, other = ([(1, 3), LEAF, (1, 1), LEAF, *tree] for tree in below)
    assert trees_of(canonical(forest_of([one, other]), COLUMNS, random_codes())) == [one, one]


def test_levels_that_another_column_has_removed_count_as_gone():
    codes = random_codes()
    codes[:, 1] = np.where(codes[:, 0] <= 3, 1 + 2 * (codes[:, 1] % 2), codes[:, 1])  # small: green and grey only
    one, other = ([(0, 3), (1, level), LEAF, LEAF, LEAF] for level in (1, 3))
    assert trees_of(canonical(forest_of([one, other]), COLUMNS, codes)) == [one, one]
    large = [(0, 3), LEAF, (1, 3), LEAF, LEAF]
    assert trees_of(canonical(forest_of([large]), COLUMNS, codes)) == [large]


def test_three_levels_left_have_no_mirror():
    trees = [[(1, 3), LEAF, (1, level), LEAF, LEAF] for level in (0, 1, 2)]
    assert trees_of(canonical(forest_of(trees), COLUMNS, random_codes())) == trees


def grow(rng, rows, depth=0):
    """A random tree with no empty region, and its regions."""
    column = int(rng.integers(3))
    cut = int(rng.integers(COLUMNS[column].size))
    left = rows[:, column] == cut if column else rows[:, column] <= cut
    if depth == 6 or rng.random() < 0.25 or left.all() or not left.any():
        return [LEAF]
    return [(column, cut), *grow(rng, rows[left], depth + 1), *grow(rng, rows[~left], depth + 1)]


def regions(tree, codes):
    nodes, out = iter(tree), set()

    def walk(rows):
        column, cut = next(nodes)
        if column < 0:
            out.add(frozenset(rows.tolist()))
            return
        code = codes[rows, column]
        left = code == cut if column else code <= cut
        walk(rows[left])
        walk(rows[~left])

    walk(np.arange(len(codes)))
    return out


def flip_mirrors(rng, tree, codes):
    """The same regions, with a coin thrown at every node that has two levels left."""
    nodes = iter(tree)

    def walk(rows):
        column, cut = next(nodes)
        if column < 0:
            return [LEAF]
        left = rows[:, column] == cut if column else rows[:, column] <= cut
        below = [walk(rows[left]), walk(rows[~left])]
        levels = set(rows[:, column].tolist())
        if column and len(levels) == 2 and rng.random() < 0.5:
            (cut,) = levels - {cut}
            below.reverse()
        return [(column, cut), *below[0], *below[1]]

    return walk(codes)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**31))
def test_canonical_form_keeps_the_regions_and_forgets_only_mirrors(seed):
    rng = np.random.default_rng(seed)
    codes = random_codes(seed)
    trees = [grow(rng, codes) for _ in range(4)]
    forest = forest_of(trees)
    merged = canonical(forest, COLUMNS, codes)
    assert [regions(t, codes) for t in trees_of(merged)] == [regions(t, codes) for t in trees]
    assert merged.height.tolist() == forest.height.tolist()
    assert canonical(merged, COLUMNS, codes).keys() == merged.keys()
    flipped = forest_of([flip_mirrors(rng, tree, codes) for tree in trees])
    assert canonical(flipped, COLUMNS, codes).keys() == merged.keys()


def test_numeric_columns_alone_need_no_canonical_form():
    forest = forest_of([[(0, 3), LEAF, LEAF]])
    assert canonical(forest, COLUMNS[:1], random_codes()[:, :1]) is forest


def test_four_thousand_different_trees_are_read_in_well_under_a_second():
    rng, codes = np.random.default_rng(0), random_codes()
    forest = forest_of([grow(rng, codes) for _ in range(4000)])
    assert len(set(forest.keys())) > 1000
    began = time.perf_counter()
    forest.splits_on(3)
    assert forest.height.max() > 3
    quick = time.perf_counter() - began
    canonical(forest, COLUMNS, codes)
    assert quick < 0.3
    assert time.perf_counter() - began < 2.0


# --- text ---


def hand_made():
    ages = np.array([18.0, 21.0, 30.0, 34.0, 34.5, 60.0])
    colours = np.array([0.0, 0.0, 1.0, 2.0, 2.0, 1.0])
    columns = [NumericColumn.learn("age", ages), CategoricalColumn("colour", np.arange(3.0), ("red", "sky blue", "-"))]
    return columns, np.column_stack([c.codes(v) for c, v in zip(columns, (ages, colours), strict=True)])


def test_text_of_a_small_tree():
    columns, codes = hand_made()
    rules = [(0, 3), (1, 0), LEAF, (1, 1), LEAF, LEAF, (0, 4), LEAF, LEAF]
    tree = make_tree(rules, columns, codes, -12.3456, 7)
    assert str(tree) == (
        "5 leaves, height 4, log posterior -12.35\n"
        "age <= 34.2:\n"
        "  colour == red: 2 rows\n"
        "  colour != red:\n"
        "    colour == sky blue: 1 row\n"
        "    colour != sky blue: 1 row\n"
        "age > 34.2:\n"
        "  age <= 50: 1 row\n"
        "  age > 50: 1 row"
    )


def test_text_of_the_root_alone():
    columns, codes = hand_made()
    assert str(make_tree([LEAF], columns, codes, 3.0, 1)) == "1 leaf, height 1, log posterior 3.00\nall: 6 rows"


def test_a_tree_is_a_value():
    columns, codes = hand_made()
    rules = [(1, 2), LEAF, (0, 1), LEAF, LEAF]
    tree = make_tree(rules, columns, codes, 1.0, 1)
    below = Split("age", 25.5, None, "26", Leaf(2), Leaf(2))
    assert tree == Tree(Split("colour", None, "-", "-", Leaf(2), below), 1.0, 1)
    assert hash(tree) == hash(make_tree(rules, columns, codes, 1.0, 1))
    assert (tree.height, tree.n_leaves, tree.leaf_sizes, tree.root.size) == (3, 3, (2, 2, 2), 6)


def test_long_names_are_shortened_to_80_columns():
    node = Leaf(123456)
    for depth in range(12):
        name = f"{depth}" + "a very long column name " * 5
        node = Split(name, None, "level" * 30, "level" * 30, node, Leaf(1)) if depth % 2 else node
        node = Split(name, 1234.5678, None, "1234.5678", Leaf(99999), node)
    text = str(Tree(node, 0.0, 1))
    assert max(map(len, text.splitlines())) == 80
    assert "1234.5678" in text


def test_short_names_are_left_whole_beside_long_levels():
    tree = Tree(Split("c", None, "x" * 200, "x" * 200, Leaf(1), Leaf(1)), 0.0, 1)
    assert all(len(line) == 80 and line.startswith("c ") for line in str(tree).splitlines()[1:])


@pytest.mark.parametrize(
    ("level", "shown"), [("", "''"), (" a", "' a'"), ("a\nb", r"'a\nb'"), ("é", "é"), ("a b", "a b")]
)
def test_levels_that_cannot_be_seen_are_quoted(level, shown):
    tree = Tree(Split("c", None, level, level, Leaf(1), Leaf(1)), 0.0, 1)
    assert str(tree).splitlines()[1:] == [f"c == {shown}: 1 row", f"c != {shown}: 1 row"]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([0, 1], "0.5"),
        ([2, 3], "2.5"),
        ([1, 2], "1.5"),
        ([0.1, 0.2], "0.15"),
        ([0.25, 0.75], "0.5"),
        ([0.123456, 0.654321], "0.4"),
        ([0.123456, 0.123458], "0.123457"),
        ([1000, 3000], "2000"),
        ([1999, 2000], "1999.5"),
        ([-1, 1.0000002], "0"),
        ([-3, -2], "-2.5"),
        ([1e-9, 3e-9], "2e-09"),
        ([1e300, 3e300], "2e+300"),
        ([1.0, np.nextafter(1.0, 2)], "1"),
        ([0.1, np.nextafter(0.1, 1)], "0.1"),
    ],
)
def test_thresholds_have_as_many_digits_as_separate_their_neighbours(values, text):
    assert threshold_text(NumericColumn.learn("x", np.array(values, dtype=float)), 0) == text


@settings(deadline=None)
@given(
    hnp.arrays(float, st.integers(2, 30), elements=st.floats(-1e9, 1e9), unique=True)
    | hnp.arrays(float, st.integers(2, 30), elements=st.floats(-1, 1), unique=True)
    | hnp.arrays(float, st.integers(2, 30), elements=st.floats(-8e307, 8e307), unique=True)
)
def test_the_printed_threshold_divides_the_training_values_as_the_rule_does(values):
    column = NumericColumn.learn("x", values)
    for cut, threshold in enumerate(column.thresholds):
        assert np.array_equal(values <= float(threshold_text(column, cut)), values <= threshold)


def test_digits_stay_few_in_a_long_column():
    values = np.sort(np.random.default_rng(0).uniform(size=20_000)) * 100
    column = NumericColumn.learn("x", values)
    for cut in range(0, len(values) - 1, 997):
        text = threshold_text(column, cut)
        assert values[cut] < float(text) < values[cut + 1]
        assert len(text) <= 3 - np.log10(values[cut + 1] - values[cut]) + 2


@given(st.sets(st.integers(0, 60), min_size=2, max_size=30), st.sampled_from([0.0, 0.3, 1.0, 1e6, -1e6]))
def test_values_a_few_roundings_apart_are_still_separated(steps, origin):
    values = np.unique(np.array([-3.0, *(origin + step * np.spacing(abs(origin) or 1.0) for step in steps)]))
    column = NumericColumn.learn("x", values)
    for cut, threshold in enumerate(column.thresholds):
        assert np.array_equal(values <= float(threshold_text(column, cut)), values <= threshold)
