# SPDX-License-Identifier: GPL-2.0-only
# What R computes of its own data sets, for test_reference_r.py: a line of NAME,VALUE each.
# Only the packages base, stats and datasets. Run it with
#   Rscript --vanilla experiments/analysis/tests/reference.R >experiments/analysis/tests/reference-r.csv
# Data: sleep (Student 1908), warpbreaks (Tippett 1950), npk (Yates 1937), ToothGrowth (Crampton 1947),
# lh (Diggle 1990); see help(NAME) in R for each.

say <- function(name, ...) for (value in c(...)) cat(name, ",", format(value, digits = 15, scientific = TRUE), "\n", sep = "")

a <- sleep$extra[sleep$group == 1]
b <- sleep$extra[sleep$group == 2]

one <- t.test(a)
say("t_interval", one$estimate, one$conf.int)
two <- t.test(b, a)
say("welch", two$estimate[1] - two$estimate[2], two$conf.int, two$statistic, two$parameter, two$p.value)
pair <- t.test(b, a, paired = TRUE)
say("paired", mean(b - a), pair$conf.int, pair$statistic, pair$parameter, pair$p.value)

# Hedges' g by its definition, with Borenstein's large-sample variance (2009, 4.18 to 4.24).
n <- length(a); m <- length(b); d <- (mean(b) - mean(a)) / sqrt(((n - 1) * var(a) + (m - 1) * var(b)) / (n + m - 2))
j <- 1 - 3 / (4 * (n + m - 2) - 1)
g <- j * d; e <- j * sqrt((n + m) / (n * m) + d^2 / (2 * (n + m)))
say("hedges", g, g + qnorm(c(0.025, 0.975)) * e)

# Fieller: the ratios at which the test of mean(x) - r mean(y) turns; weights and plants, whose means are far from 0.
x <- ToothGrowth$len[ToothGrowth$dose == 2]; y <- ToothGrowth$len[ToothGrowth$dose == 1]
turns <- function(r, v, df) abs(mean(x) - r * mean(y)) - qt(0.975, df) * sqrt(v(r))
limits <- function(v, df) {
  r <- mean(x) / mean(y)
  c(r, uniroot(turns, c(0.2, r), v, df, tol = 1e-13)$root, uniroot(turns, c(r, 5), v, df, tol = 1e-13)$root)
}
va <- var(x) / 20; vb <- var(y) / 20; r <- mean(x) / mean(y)
say("fieller", limits(function(r) va + r^2 * vb, (va + r^2 * vb)^2 / (va^2 / 19 + (r^2 * vb)^2 / 19)))
say("fieller_paired", limits(function(r) va + r^2 * vb - 2 * r * cov(x, y) / 20, 19))

say("holm", p.adjust(c(0.01, 0.04, 0.03, 0.005, 0.2, 0.011), "holm"))

# Type II by comparing models; the first four rows of warpbreaks are left out: unbalanced.
w <- warpbreaks[-(1:4), ]
full <- lm(breaks ~ wool * tension, w, contrasts = list(wool = "contr.sum", tension = "contr.sum"))
main <- lm(breaks ~ wool + tension, w)
say("anova_residual", deviance(full), df.residual(full))
term <- function(name, small, large) {
  ss <- deviance(small) - deviance(large); df <- df.residual(small) - df.residual(large)
  f <- ss / df / (deviance(full) / df.residual(full))
  say(name, ss, df, f, pf(f, df, df.residual(full), lower.tail = FALSE))
}
term("anova_wool", lm(breaks ~ tension, w), main)
term("anova_tension", lm(breaks ~ wool, w), main)
term("anova_wool_tension", main, full)

# Effects of sum-to-zero contrasts with 90 and 95 % limits; the last level's is minus the sum of the others.
weights <- function(name, c) {
  est <- sum(c * coef(full)); se <- sqrt(drop(t(c) %*% vcov(full) %*% c)); q <- qt(c(0.95, 0.975), df.residual(full))
  say(name, est, se, est - q[1] * se, est + q[1] * se, est - q[2] * se, est + q[2] * se,
      2 * pt(-abs(est / se), df.residual(full)))
}
weights("grand", c(1, 0, 0, 0, 0, 0))
weights("effect_wool_A", c(0, 1, 0, 0, 0, 0))
weights("effect_tension_M", c(0, 0, 0, 1, 0, 0))
weights("effect_tension_H", c(0, 0, -1, -1, 0, 0))
weights("effect_wool_A_tension_L", c(0, 0, 0, 0, 1, 0))
weights("contrast_L_H", c(0, 0, -2, -1, 0, 0))

# Residual tests: Shapiro and Wilk; Breusch and Pagan as Koenker studentises it, n R^2 on the fitted values.
say("shapiro", shapiro.test(resid(full))$p.value)
aux <- lm(resid(full)^2 ~ fitted(full))
say("breusch_pagan", pchisq(nrow(w) * summary(aux)$r.squared, 1, lower.tail = FALSE))

# Blocks: npk, main effects and interactions of N and P.
blocks <- lm(yield ~ N * P + block, npk)
say("npk_residual", deviance(blocks), df.residual(blocks))
say("npk_NP", anova(lm(yield ~ N + P + block, npk), blocks)$F[2])

# Power of the two-sample t test: n a group, the difference in standard deviations that is found with 80 %.
for (n in c(3, 5, 10, 20, 30)) say("power_delta", power.t.test(n = n, power = 0.8, strict = TRUE, tol = 1e-10)$delta)
for (d in c(0.5, 1, 2)) say("power_n", power.t.test(delta = d, power = 0.8, strict = TRUE, tol = 1e-10)$n)

# Order of the observations: Ljung and Box at lag 1, and the rank correlation with time (lh: 48 values in time).
say("ljung_box", Box.test(lh, 1, "Ljung-Box")$statistic, Box.test(lh, 1, "Ljung-Box")$p.value)
say("kendall", cor.test(as.numeric(lh), 1:48, method = "kendall", exact = FALSE)$estimate,
    cor.test(as.numeric(lh), 1:48, method = "kendall", exact = FALSE)$p.value)
