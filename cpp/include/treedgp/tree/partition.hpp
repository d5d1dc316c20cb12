// Rules, the rows they separate, and which rules a node admits.
#pragma once
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "treedgp/linalg/small.hpp"

namespace treedgp {

// Numeric column: code <= cut goes left. Categorical column: code == cut goes left, the rest right.
struct Rule {
  int column = -1, cut = -1;
  bool operator==(const Rule&) const = default;
};

// What the tree sees of one input: a numeric value's rank among the distinct training values, or a level.
struct SplitColumn {
  bool categorical = false;
  int size = 0;           // distinct values, or levels
  std::vector<int> code;  // (n)

  bool goes_left(int code, int cut) const { return categorical ? code == cut : code <= cut; }
};

// Cuts first .. first + count - 1 divide the node's rows in the same way (a level: count = 1).
struct Option {
  int first, count;
  double weight = 0;  // probability that a move proposes it, where that is not the prior's
};

struct ColumnMenu {
  int column;
  std::vector<Option> options;  // increasing; never empty

  // Index of the option that holds this cut, or -1.
  int find(int cut) const {
    auto after = std::upper_bound(options.begin(), options.end(), cut,
                                  [](int c, const Option& o) { return c < o.first; });
    if (after == options.begin()) return -1;
    const auto& option = *(after - 1);
    return cut < option.first + option.count ? static_cast<int>(after - 1 - options.begin()) : -1;
  }
};

// A node's rows (increasing) and its admissible rules, by column.
struct Region {
  std::vector<int> rows;
  std::vector<ColumnMenu> menu;
  bool weighed = false;  // moves propose rules by the options' weights

  bool splittable() const { return !menu.empty(); }
  const ColumnMenu* menu_of(int column) const {
    for (const auto& m : menu)
      if (m.column == column) return &m;
    return nullptr;
  }
  bool admits(const Rule& rule) const {
    const ColumnMenu* m = menu_of(rule.column);
    return m && m->find(rule.cut) >= 0;
  }
};
using RegionPtr = std::shared_ptr<const Region>;

// Two rows close in the leaves' inputs, and whether their labels differ.
struct Neighbours {
  int i, j;
  bool differ;
};

// Makes regions. A rule is admissible if both children have min_leaf rows and, where a design is given
// (flat coefficient prior), a design of full column rank.
class Partitioner {
 public:
  Partitioner(std::vector<SplitColumn> columns, int n, int min_leaf, Matrix full_rank_design,
              std::vector<Neighbours> neighbours)
      : columns_(std::move(columns)), n_(n), min_leaf_(min_leaf), design_(std::move(full_rank_design)),
        neighbours_(std::move(neighbours)) {}

  int n_rows() const { return n_; }
  int n_columns() const { return static_cast<int>(columns_.size()); }
  const SplitColumn& column(int i) const { return columns_[i]; }

  RegionPtr root() const {
    std::vector<int> rows(n_);
    std::iota(rows.begin(), rows.end(), 0);
    return make_region(std::move(rows));
  }

  std::pair<RegionPtr, RegionPtr> divide(const Region& region, const Rule& rule) const {
    auto [left, right] = divide_rows(region.rows, rule);
    return {make_region(std::move(left)), make_region(std::move(right))};
  }

  std::pair<std::vector<int>, std::vector<int>> divide_rows(const std::vector<int>& rows, const Rule& rule) const {
    const SplitColumn& c = columns_[rule.column];
    std::pair<std::vector<int>, std::vector<int>> sides;
    for (int i : rows) (c.goes_left(c.code[i], rule.cut) ? sides.first : sides.second).push_back(i);
    return sides;
  }

 private:
  RegionPtr make_region(std::vector<int> rows) const {
    auto region = std::make_shared<Region>();
    region->rows = std::move(rows);
    if (static_cast<int>(region->rows.size()) / 2 >= min_leaf_)
      for (int c = 0; c < static_cast<int>(columns_.size()); ++c)
        if (auto options = admissible(region->rows, c); !options.empty())
          region->menu.push_back({c, std::move(options)});
    if (!neighbours_.empty()) weigh(*region);
    return region;
  }

  // A split may pay where neighbours on its two sides differ more often than neighbours do. Half of an option's weight is
  // its prior; half goes by exp(llr / 4), llr the log likelihood ratio of the share of pairs that differ among those it
  // parts to the share among all.
  void weigh(Region& region) const {
    std::vector<char> inside(n_);
    for (int i : region.rows) inside[i] = 1;
    std::vector<const Neighbours*> pairs;
    int differ = 0;
    for (const Neighbours& p : neighbours_)
      if (inside[p.i] && inside[p.j]) {
        pairs.push_back(&p);
        differ += p.differ;
      }
    const double share = (differ + 0.5) / (pairs.size() + 1.0);
    double top = 0;
    for (ColumnMenu& menu : region.menu) {
      const SplitColumn& c = columns_[menu.column];
      std::vector<int> parted(c.size), unlike(c.size);  // by cut
      for (const Neighbours* p : pairs) {
        const auto [low, high] = std::minmax(c.code[p->i], c.code[p->j]);
        if (low == high) continue;
        const int at_high = c.categorical ? 1 : -1;  // parted by either level; by cuts from low to high - 1
        parted[low] += 1;
        parted[high] += at_high;
        unlike[low] += p->differ;
        unlike[high] += at_high * p->differ;
      }
      if (!c.categorical) {
        std::partial_sum(parted.begin(), parted.end(), parted.begin());
        std::partial_sum(unlike.begin(), unlike.end(), unlike.begin());
      }
      for (Option& option : menu.options) {
        const double all = parted[option.first], u = unlike[option.first];
        auto term = [&](double count, double p) { return count > 0 ? count * std::log(count / (all * p)) : 0; };
        option.weight = u > share * all ? 0.25 * (term(u, share) + term(all - u, 1 - share)) : 0;
        top = std::max(top, option.weight);
      }
    }
    double total = 0;
    for (ColumnMenu& menu : region.menu)
      for (Option& option : menu.options) total += option.weight = std::exp(option.weight - top);
    for (ColumnMenu& menu : region.menu)
      for (Option& option : menu.options)
        option.weight = 0.5 * option.weight / total + 0.5 / (region.menu.size() * menu.options.size());
    region.weighed = true;
  }

  std::vector<Option> admissible(const std::vector<int>& rows, int column) const {
    const SplitColumn& c = columns_[column];
    const int n = static_cast<int>(rows.size());
    std::vector<int> count(c.size);
    for (int i : rows) ++count[c.code[i]];

    std::vector<Option> options;
    auto enough = [&](int left) { return left >= min_leaf_ && n - left >= min_leaf_; };
    if (c.categorical) {
      for (int level = 0; level < c.size; ++level)
        if (enough(count[level]) && full_rank(rows, {column, level}, true) && full_rank(rows, {column, level}, false))
          options.push_back({level, 1});
      return options;
    }
    int left = 0;
    for (int code = 0; code < c.size; ++code) {
      if (count[code] == 0) {
        if (!options.empty() && options.back().first + options.back().count == code) ++options.back().count;
        continue;
      }
      left += count[code];
      if (enough(left)) options.push_back({code, 1});
    }
    if (design_.rows > 0) keep_full_rank(rows, column, options);
    return options;
  }

  // Rank can only grow as rows join a side, so the full-rank cuts form an interval: look for its ends, which are
  // almost always the first and the last cut, else bisect.
  void keep_full_rank(const std::vector<int>& rows, int column, std::vector<Option>& options) const {
    auto bad_left = [&](const Option& o) { return !full_rank(rows, {column, o.first}, true); };
    auto good_right = [&](const Option& o) { return full_rank(rows, {column, o.first}, false); };
    if (!options.empty() && bad_left(options.front()))
      options.erase(options.begin(), std::partition_point(options.begin(), options.end(), bad_left));
    if (!options.empty() && !good_right(options.back()))
      options.erase(std::partition_point(options.begin(), options.end(), good_right), options.end());
  }

  bool full_rank(const std::vector<int>& rows, const Rule& rule, bool left) const {
    if (design_.rows == 0) return true;
    const SplitColumn& c = columns_[rule.column];
    std::vector<int> side;
    for (int i : rows)
      if (c.goes_left(c.code[i], rule.cut) == left) side.push_back(i);
    Matrix f(static_cast<int>(side.size()), design_.cols);
    for (int j = 0; j < f.cols; ++j)
      for (int i = 0; i < f.rows; ++i) f(i, j) = design_(side[i], j);
    return full_column_rank(std::move(f));
  }

  std::vector<SplitColumn> columns_;
  int n_, min_leaf_;
  Matrix design_;  // (n, m), or empty
  std::vector<Neighbours> neighbours_;  // empty: rules are proposed as the prior has them
};

}  // namespace treedgp
