// Draws of what the leaves share: beta0, W, and the (a, g) of the variances' priors.
#pragma once
#include "treedgp/moves/ratio.hpp"
#include "treedgp/round/tempo.hpp"

namespace treedgp {

// beta0 | beta_r, W ~ N(C W^-1 sum_r beta_r w_r, C),  C^-1 = I + W^-1 sum_r w_r,  w_r = 1/(sigma2_r tau2_r)
template <class Rng>
void draw_beta0(State& s, Rng& rng) {
  Hyper& h = s.hyper;
  const int m = static_cast<int>(h.beta0.size());
  double total = 0;
  Vector weighted(m), mean(m), noise(m);
  for (const Leaf& leaf : s.leaves) {
    const double w = 1 / (leaf.sigma2 * leaf.params.tau2);
    total += w;
    for (int i = 0; i < m; ++i) weighted[i] += w * leaf.beta[i];
  }
  Matrix precision = Matrix::identity(m);
  for (int j = 0; j < m; ++j)
    for (int i = 0; i < m; ++i) {
      precision(i, j) += total * h.w_inv(i, j);
      mean[i] += h.w_inv(i, j) * weighted[j];
    }
  if (!cholesky(precision)) return;
  for (double& e : noise) e = rng.normal();
  solve_lower(precision, mean);
  for (int i = 0; i < m; ++i) mean[i] += noise[i];
  solve_lower_transposed(precision, mean);
  h.beta0 = mean;
}

// W^-1 | beta_r, beta0 ~ Wish(S^-1, rho + R),  S = rho V0 + sum_r (beta_r - beta0)(beta_r - beta0)' w_r
template <class Rng>
void draw_w(State& s, Rng& rng) {
  Hyper& h = s.hyper;
  const int m = static_cast<int>(h.beta0.size());
  Matrix scale = Matrix::identity(m, wishart_dof(m) * wishart_v0);
  for (const Leaf& leaf : s.leaves) {
    const double w = 1 / (leaf.sigma2 * leaf.params.tau2);
    for (int j = 0; j < m; ++j)
      for (int i = 0; i < m; ++i) scale(i, j) += w * (leaf.beta[i] - h.beta0[i]) * (leaf.beta[j] - h.beta0[j]);
  }
  if (!cholesky(scale)) return;
  const double dof = wishart_dof(m) + static_cast<double>(s.leaves.size());
  Matrix root(m, m);  // L^-T T, T Bartlett's lower factor: W^-1 = root root'
  for (int j = 0; j < m; ++j) {
    Vector column(m);
    column[j] = std::sqrt(2 * rng.gamma(0.5 * (dof - j)));
    for (int i = j + 1; i < m; ++i) column[i] = rng.normal();
    solve_lower_transposed(scale, column);
    for (int i = 0; i < m; ++i) root(i, j) = column[i];
  }
  Matrix w_inv(m, m);
  for (int j = 0; j < m; ++j)
    for (int i = 0; i < m; ++i)
      for (int t = 0; t < m; ++t) w_inv(i, j) += root(i, t) * root(j, t);
  h.set_w_inv(std::move(w_inv));
}

// One random-walk step on log(value - floor) of a shape or rate.
template <class Rng, class LogTarget>
void walk(double& value, double floor, LogTarget&& log_target, State& s, Step step, const Tempo& tempo,
          MoveCount& count, Rng& rng) {
  const double now = value - floor, proposed = now * std::exp(std::exp(s.log_step[step]) * rng.normal());
  const LogRatio ratio{.params_prior = log_target(floor + proposed) - log_target(value),
                       .log_jacobian = std::log(proposed) - std::log(now)};
  const bool accepted = accept(ratio, 1, rng);
  if (accepted) value = floor + proposed;
  count.add(accepted);
  tempo.adapt(s.log_step[step], accepted);
}

// (a, g) | v_1 .. v_R, where v_r ~ IG(a/2, g/2).
template <class Rng, class Values>
void draw_inverse_gamma(double& a, double& g, const InverseGammaPrior& prior, Values&& values, State& s,
                        Step a_step, Step g_step, const Tempo& tempo, Counts& counts, Rng& rng) {
  if (!prior.learned) return;
  auto log_target = [&](double a, double g) {
    double sum = prior.log_hyperprior(a, g);
    for (const Leaf& leaf : s.leaves) sum += log_inverse_gamma(values(leaf), a, g);
    return sum;
  };
  walk(a, 2, [&](double x) { return log_target(x, g); }, s, a_step, tempo, counts.steps[a_step], rng);
  walk(g, 0, [&](double x) { return log_target(a, x); }, s, g_step, tempo, counts.steps[g_step], rng);
}

template <class Rng>
void draw_hyper(State& s, const Spec& spec, const Tempo& tempo, Counts& counts, Rng& rng) {
  Hyper& h = s.hyper;
  if (spec.coefficients == CoefficientKind::hierarchical) {
    draw_beta0(s, rng);
    draw_w(s, rng);
  }
  if (spec.leaf.tau2_random)
    draw_inverse_gamma(h.a_tau, h.g_tau, spec.tau2, [](const Leaf& l) { return l.params.tau2; }, s, a_tau_step,
                       g_tau_step, tempo, counts, rng);
  draw_inverse_gamma(h.a_sigma, h.g_sigma, spec.sigma2, [](const Leaf& l) { return l.sigma2; }, s, a_sigma_step,
                     g_sigma_step, tempo, counts, rng);
}

}  // namespace treedgp
