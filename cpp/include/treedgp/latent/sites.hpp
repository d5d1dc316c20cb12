// SITES: for every label a normal density of its latent, so that the law of f given all of them lies near that given the
// labels. They only say where ellipses and bridges look for latents: any values are right. In tuning they are learned by
// steps of expectation propagation (Minka 2001), the logistic curve taken for a probit of variance 1.7^2; then they stand.
#pragma once
#include <numbers>

#include "treedgp/latent/gaussian.hpp"
#include "treedgp/state/softmax.hpp"

namespace treedgp {

// The sites as noisy data of f_m. They are relative: to the other classes' log sum, and to the leaf's sigma, since well
// separated labels leave the amplitude open.
inline Response site_data(const Sites& sites, const Leaf& leaf, int m, const std::vector<const Layer*>& layers) {
  Response data{Vector(sites.size()), Vector(sites.size())};
  for (int i : leaf.region->rows) {
    const Site& site = sites[i];
    data.z[i] = log_sum_others(layers, i, m) + std::sqrt(leaf.params.sigma2) * site.shift / site.precision;
    data.noise[i] = leaf.params.sigma2 / site.precision;
  }
  return data;
}

// phi(z) / Phi(z)
inline double normal_hazard(double z) {
  if (z < -30) return -z - 1 / z + 2 / (z * z * z);  // erfc() is about to vanish
  return std::exp(-0.5 * z * z) / (std::sqrt(0.5 * std::numbers::pi) * std::erfc(-z / std::numbers::sqrt2));
}

// Moves the sites of a leaf by the share `gain` towards where their cavities and the labels put them. Returns mean and
// variance of each latent under the sites as they were.
inline Matrix learn_sites(Sites& sites, const Leaf& leaf, int m, const std::vector<const Layer*>& layers,
                        const Problem& problem, double gain, Workspace& ws) {
  constexpr double probit = 1.7 * 1.7;
  const auto& rows = leaf.region->rows;
  const int n = static_cast<int>(rows.size());
  const double sigma2 = leaf.params.sigma2, sigma = std::sqrt(sigma2);
  const Response data = site_data(sites, leaf, m, layers);
  const Matrix latent = latent_moments(problem, leaf, data, layers[m]->hyper, ws);
  for (int i = 0; i < n; ++i) {
    const int row = rows[i];
    Site& site = sites[row];
    const double f = latent(i, 0) - log_sum_others(layers, row, m), var = latent(i, 1);
    const double rest = 1 / var - site.precision / sigma2;  // precision of the cavity
    if (!(var > 0) || !(rest > 0)) continue;
    const double sign = problem.classes.label[row] == m ? 1 : -1;
    const double mean = (f / var - site.shift / sigma) / rest, spread = std::sqrt(probit + 1 / rest);
    const double z = sign * mean / spread, hazard = normal_hazard(z), slope = hazard / (rest * spread);
    const double tilted_mean = mean + sign * slope;
    const double tilted_var = 1 / rest - slope * (z + hazard) / (rest * spread);
    if (!(tilted_var > 0)) continue;
    const double wanted = (1 / tilted_var - rest) * sigma2, shift = (tilted_mean / tilted_var - mean * rest) * sigma;
    site.precision = std::clamp(site.precision + gain * (wanted - site.precision), Site{}.precision, 1e8);
    site.shift += gain * (shift - site.shift);
  }
  return latent;
}

}  // namespace treedgp
