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


# Order of the observations: Ljung and Box at lag 1, and the rank correlation with time (lh: 48 values in time).
say("ljung_box", Box.test(lh, 1, "Ljung-Box")$statistic, Box.test(lh, 1, "Ljung-Box")$p.value)
say("kendall", cor.test(as.numeric(lh), 1:48, method = "kendall", exact = FALSE)$estimate,
    cor.test(as.numeric(lh), 1:48, method = "kendall", exact = FALSE)$p.value)

# Residuals over normal quantiles: the medians of the order statistics (Filliben 1975), and their least-squares line.
k <- nrow(w)
medians <- c(1 - 0.5^(1 / k), ((2:(k - 1)) - 0.3175) / (k + 0.365), 0.5^(1 / k))
line <- lm(sort(resid(full)) ~ qnorm(medians))
say("quantiles", qnorm(medians)[c(1, 2, 25, k)], sort(resid(full))[c(1, 25)], coef(line)[2])

# Ratios of marginal means, unbalanced: where the test of mean(L) - r mean(H) turns; of logarithms, geometric means.
at <- rbind(L = c(1, 1 / 2, 0, 0), H = c(1, 1 / 2, 0, 1))
bends <- function(r) {
  c <- at["L", ] - r * at["H", ]
  abs(sum(c * coef(main))) - qt(0.95, df.residual(main)) * sqrt(drop(c %*% vcov(main) %*% c))
}
middle <- drop(at["L", ] %*% coef(main) / at["H", ] %*% coef(main))
say("relative", middle, uniroot(bends, c(0.5, middle), tol = 1e-13)$root, uniroot(bends, c(middle, 5), tol = 1e-13)$root)
logs <- lm(log(breaks) ~ wool + tension, w)
say("relative_log", exp(-c(coef(logs)["tensionH"], rev(confint(logs, "tensionH", 0.9)))))

# Share of a factor of two levels, at the ends of its contrast's interval in parts of its standard error.
wool <- summary(main)$coefficients["woolB", ]
squares <- function(t) t^2 * deviance(main) / df.residual(main)
others <- sum((w$breaks - mean(w$breaks))^2) - squares(wool["t value"])
ends <- sort(abs(confint(main, "woolB", 0.9) / wool["Std. Error"]))
stopifnot(prod(confint(main, "woolB", 0.9)) > 0)
say("explained", squares(wool["t value"]) / (squares(wool["t value"]) + others), squares(ends) / (squares(ends) + others))

# Tukey's one degree of freedom: the fitted values' square as one more regressor.
square <- fitted(main)^2
say("additive", anova(main, lm(breaks ~ wool + tension + square, w))[2, "Pr(>F)"])

# Speed-ups by blocks: y is the baseline of x, where more is better (fieller_paired); AL is that of AH, where less is.
al <- warpbreaks$breaks[1:9]; ah <- warpbreaks$breaks[19:27]
inverse <- function(both, df) function(r) {
  v <- var(al) / 9 + r^2 * var(ah) / 9 - 2 * r * both / 9
  abs(mean(al) - r * mean(ah)) - qt(0.975, df) * sqrt(v)
}
turns <- function(f, s) c(s, uniroot(f, c(0.5, s), tol = 1e-13)$root, uniroot(f, c(s, 9), tol = 1e-13)$root)
s <- turns(inverse(cov(al, ah), 8), mean(al) / mean(ah))
say("speedup_less", s)
say("speedup_p", p.adjust(c(t.test(x, y, paired = TRUE)$p.value, t.test(al, ah, paired = TRUE)$p.value), "holm"))

# Their geometric mean: Student's interval of the common blocks' mean logarithms.
blocks <- t.test((log(x / y)[1:9] + log(al / ah)) / 2)
say("geometric_mean", exp(c(blocks$estimate, blocks$conf.int)))

# The price: seconds of moving, and the work after which they are paid, by solving t = seconds + t / speed-up.
moving <- t.test(lh[1:9])
say("cost", moving$estimate, moving$conf.int, mean(4096 * (1:9)))
even <- function(seconds, speed) uniroot(function(t) t - seconds - t / speed, c(0, 1e6), tol = 1e-12)$root
say("break_even", even(moving$estimate, s[1]), even(moving$conf.int[1], s[3]))

# Times of a work, of independent runs: Student's intervals, and Fieller's of their ratio with Welch's degrees of freedom.
v <- c(var(al) / 9, (mean(al) / mean(ah))^2 * var(ah) / 9)

# Boots: the means of warpbreaks' levels of tension, and Student's interval of them.
boots <- tapply(warpbreaks$breaks, warpbreaks$tension, mean)
say("boots", boots, t.test(boots)$conf.int)

# Geweke's windows: the first tenth of the samples over the last half, in logarithms; threads are averaged.
windows <- function(...) {
  first <- sapply(list(...), function(x) mean(head(x, ceiling(length(x) / 10))))
  last <- sapply(list(...), function(x) mean(tail(x, length(x) %/% 2)))
  log(mean(first) / mean(last))
}
h <- as.numeric(lh)
one <- c(windows(h, rev(h)), windows(h[1:30]), windows(h[11:48]))
two <- c(windows(h[2:31]), windows(h[3:32]), windows(h[1:30], h[4:33]))
say("windows", one)
say("steady", exp(mean(one)), exp(mean(two)), p.adjust(c(t.test(one)$p.value, t.test(two)$p.value), "holm"))

# Deviation in parts of the mean, pooled over the six cells of warpbreaks; chi-squared at 5 % / 6.
cells <- split(warpbreaks$breaks, list(warpbreaks$wool, warpbreaks$tension))
parts <- unlist(lapply(cells, function(c) (c / mean(c) - 1)^2))
say("pooled", sqrt(sum(parts) / 48), sqrt(sum(parts) / qchisq(c(1 - 0.05 / 12, 0.05 / 12), 48)))
