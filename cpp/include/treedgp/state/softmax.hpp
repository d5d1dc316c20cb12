// From latents to labels: p(label = c | f) = exp(f_c) / sum_l exp(f_l), with f = 0 for the base class.
#pragma once
#include <algorithm>
#include <limits>

#include "treedgp/state/state.hpp"

namespace treedgp {

// The layer of each class but the base, in order.
inline std::vector<const Layer*> latents(const Trees& trees) {
  std::vector<const Layer*> out;
  for (const State& s : trees)
    for (const Layer& layer : s.layers) out.push_back(&layer);
  return out;
}

// log sum_l exp f_l(x_i) over every class but `left_out`, the base class with its 0 included.
inline double log_sum_others(const std::vector<const Layer*>& layers, int i, int left_out) {
  double top = 0;
  for (int l = 0; l < static_cast<int>(layers.size()); ++l)
    if (l != left_out) top = std::max(top, layers[l]->response.z[i]);
  double sum = std::exp(-top);
  for (int l = 0; l < static_cast<int>(layers.size()); ++l)
    if (l != left_out) sum += std::exp(layers[l]->response.z[i] - top);
  return top + std::log(sum);
}

// log p(labels | latents); 0 where there are none.
inline double log_labels(const Classes& classes, const std::vector<const Layer*>& layers) {
  double sum = 0;
  if (classes.n_latents() == 0) return sum;
  for (std::size_t i = 0; i < classes.label.size(); ++i) {
    const int c = classes.label[i];
    const double f = c < classes.n_latents() ? layers[c]->response.z[i] : 0;
    sum += f - log_sum_others(layers, static_cast<int>(i), -1);
  }
  return sum;
}

}  // namespace treedgp
