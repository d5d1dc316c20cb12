// The paper's update of a class's latents, its ratio corrected: in each leaf, blocks of a random partition are proposed
// from their law given the leaf's other latents (beta integrated out) and accepted by the labels of the block.
// With Q the leaf's precision and r = Q (f - F beta0),
//   f_I | rest ~ N(f_I - Q_II^-1 r_I, sigma2 Q_II^-1).
#pragma once
#include <numeric>
#include <stdexcept>

#include "treedgp/latent/precision.hpp"
#include "treedgp/moves/ratio.hpp"
#include "treedgp/state/softmax.hpp"

namespace treedgp {

// log p(label_i | latents) with `f` for the latent of class m at point i.
inline double log_label(const Problem& problem, const std::vector<const Layer*>& layers, int m, int i, double f) {
  const int c = problem.classes.label[i];
  const double others = log_sum_others(layers, i, m);
  const double of_label = c == m ? f : c < problem.classes.n_latents() ? layers[c]->response.z[i] : 0;
  return of_label - log_add(others, f);
}

// One pass over the blocks of every leaf of class m. Returns by the counts how often blocks were accepted.
template <class Rng, class Count>
void move_latents(Layer& layer, int m, const std::vector<const Layer*>& layers, const Problem& problem, Workspace& ws,
                  Count&& count, Rng& rng) {
  for (const Leaf& leaf : layer.leaves) {
    const auto& rows = leaf.region->rows;
    const int n = static_cast<int>(rows.size());
    LeafPrecision precision(problem, leaf, layer.hyper, ws);
    precision.start(residuals(problem, leaf, layer.response.z, layer.hyper));

    auto move_block = [&](auto&& self, const int* block, int size) -> void {
      Matrix q(size, size);
      Vector r(size), step(size);
      for (int a = 0; a < size; ++a) {
        r[a] = precision.r(block[a]);
        for (int b = 0; b < size; ++b) q(a, b) = precision.at(block[a], block[b]);
      }
      if (!cholesky(q)) {  // lost to rounding, which depends on the parameters alone: by halves
        if (size == 1) throw std::runtime_error(no_factor);
        self(self, block, size / 2);
        self(self, block + size / 2, size - size / 2);
        return;
      }
      solve_lower(q, r);
      for (int a = 0; a < size; ++a) step[a] = std::sqrt(leaf.params.sigma2) * rng.normal() - r[a];
      solve_lower_transposed(q, step);  // f' - f

      double log_ratio = 0;
      for (int a = 0; a < size; ++a) {
        const int i = rows[block[a]];
        const double f = layer.response.z[i];
        log_ratio += log_label(problem, layers, m, i, f + step[a]) - log_label(problem, layers, m, i, f);
      }
      const bool accepted = accept({.likelihood = log_ratio}, 1, rng);
      count(accepted);
      if (!accepted) return;
      for (int a = 0; a < size; ++a) {
        layer.response.z[rows[block[a]]] += step[a];
        precision.add(block[a], step[a]);
      }
    };

    std::vector<int> order(n);
    std::iota(order.begin(), order.end(), 0);
    for (int i = n - 1; i > 0; --i) std::swap(order[i], order[rng.pick(i + 1)]);
    for (int first = 0; first < n; first += problem.classes.block_size)
      move_block(move_block, order.data() + first, std::min(problem.classes.block_size, n - first));
  }
}

}  // namespace treedgp
