// Pairs of rows close to each other: what tells moves where labels change (Partitioner::weigh).
#pragma once
#include <algorithm>
#include <limits>

#include "treedgp/state/spec.hpp"

namespace treedgp {

// Each row with the four nearest by the leaves' inputs, of equally near ones the first. None unless labels reach the trees
// through latents: there trees follow where they change.
inline std::vector<Neighbours> nearest(const LeafData& data, const Classes& classes) {
  std::vector<Neighbours> out;
  if (classes.n_latents() == 0 || data.q == 0) return out;
  const int count = std::min(4, data.n - 1);
  std::vector<std::pair<double, int>> others(data.n);
  for (int i = 0; i < data.n; ++i) {
    for (int j = 0; j < data.n; ++j) {
      others[j] = {0, j};
      for (int c = 0; c < data.q; ++c) {
        const double* x = data.x.data() + static_cast<std::size_t>(c) * data.n;
        others[j].first += (x[i] - x[j]) * (x[i] - x[j]);
      }
    }
    others[i].first = std::numeric_limits<double>::infinity();
    std::partial_sort(others.begin(), others.begin() + count, others.end());
    for (int k = 0; k < count; ++k) {
      const int j = others[k].second;
      out.push_back({i, j, classes.label[i] != classes.label[j]});
    }
  }
  return out;
}

}  // namespace treedgp
