//! Eigenvalues of a symmetric matrix: Householder tridiagonalisation, then QL with implicit shifts (Golub, Van
//! Loan, "Matrix Computations", 8.3). Values only, so no rotations are kept: about 4/3 n³ operations.

/// Eigenvalues in ascending order. Row `i` of the symmetric `a` is `a[i * n..][..n]`; it is used as work space.
pub(super) fn eigenvalues(a: &mut [f64], n: usize) -> Vec<f64> {
    let (mut diagonal, mut off) = tridiagonal(a, n);
    implicit_ql(&mut diagonal, &mut off);
    diagonal.sort_by(f64::total_cmp);
    diagonal
}

/// Diagonal and sub-diagonal (`off[i]` joins `i` and `i + 1`; the last one is 0) of a similar matrix.
fn tridiagonal(a: &mut [f64], n: usize) -> (Vec<f64>, Vec<f64>) {
    let mut off = vec![0.0; n];
    let mut p = vec![0.0; n];
    for k in 0..n.saturating_sub(2) {
        // Reflect column k below the diagonal onto its first element.
        let mut v: Vec<f64> = (k + 1..n).map(|i| a[i * n + k]).collect();
        let norm = v.iter().map(|x| x * x).sum::<f64>().sqrt();
        let alpha = if v[0] > 0.0 { -norm } else { norm };
        off[k] = alpha;
        v[0] -= alpha;
        let square: f64 = v.iter().map(|x| x * x).sum();
        if square == 0.0 {
            continue;
        }
        // A - v wᵀ - w vᵀ with w = p - (vᵀp / vᵀv) v, p = 2 A v / vᵀv.
        let m = v.len();
        for i in 0..m {
            let row = &a[(k + 1 + i) * n + k + 1..][..m];
            p[i] = 2.0 / square * row.iter().zip(&v).map(|(a, v)| a * v).sum::<f64>();
        }
        let half = v.iter().zip(&p).map(|(v, p)| v * p).sum::<f64>() / square;
        for (p, v) in p.iter_mut().zip(&v) {
            *p -= half * v;
        }
        for i in 0..m {
            let (vi, wi) = (v[i], p[i]);
            let row = &mut a[(k + 1 + i) * n + k + 1..][..m];
            for ((a, v), w) in row.iter_mut().zip(&v).zip(&p) {
                *a -= vi * w + wi * v;
            }
        }
    }
    if n >= 2 {
        off[n - 2] = a[(n - 1) * n + n - 2];
    }
    ((0..n).map(|i| a[i * n + i]).collect(), off)
}

/// Leaves the eigenvalues in `d`.
fn implicit_ql(d: &mut [f64], e: &mut [f64]) {
    // QL converges in two or three steps a value; the bound only guards against a matrix that is not finite.
    const STEPS: usize = 60;
    let n = d.len();
    for l in 0..n {
        for _ in 0..STEPS {
            let small = |m: &usize| e[*m].abs() <= f64::EPSILON * (d[*m].abs() + d[*m + 1].abs());
            let m = (l..n - 1).find(small).unwrap_or(n - 1);
            if m == l {
                break;
            }
            let g = (d[l + 1] - d[l]) / (2.0 * e[l]);
            let mut g = d[m] - d[l] + e[l] / (g + g.hypot(1.0).copysign(g));
            let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
            let mut split = false;
            for i in (l..m).rev() {
                let (f, b) = (s * e[i], c * e[i]);
                let r = f.hypot(g);
                e[i + 1] = r;
                if r == 0.0 {
                    d[i + 1] -= p;
                    e[m] = 0.0;
                    split = true;
                    break;
                }
                (s, c) = (f / r, g / r);
                let shifted = d[i + 1] - p;
                let r = (d[i] - shifted) * s + 2.0 * c * b;
                p = s * r;
                d[i + 1] = shifted + p;
                g = c * r - b;
            }
            if !split {
                d[l] -= p;
                e[l] = g;
                e[m] = 0.0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (f, e) in found.iter().zip(expected) {
            assert!((f - e).abs() < 1e-10, "{found:?} for {expected:?}");
        }
    }

    #[test]
    fn small_matrices_by_hand() {
        close(&eigenvalues(&mut [7.0], 1), &[7.0]);
        close(&eigenvalues(&mut [2.0, 1.0, 1.0, 2.0], 2), &[1.0, 3.0]);
        close(&eigenvalues(&mut [0.0; 9], 3), &[0.0; 3]);
        close(&eigenvalues(&mut [2.0, 0.0, 0.0, 0.0, 3.0, 4.0, 0.0, 4.0, 9.0], 3), &[1.0, 2.0, 11.0]);
    }

    #[test]
    fn second_differences_have_their_known_spectrum() {
        let n = 40;
        let mut a = vec![0.0; n * n];
        for i in 0..n {
            a[i * n + i] = 2.0;
            if i + 1 < n {
                a[i * n + i + 1] = -1.0;
                a[(i + 1) * n + i] = -1.0;
            }
        }
        let expected: Vec<f64> =
            (1..=n).map(|k| 2.0 - 2.0 * (k as f64 * std::f64::consts::PI / (n + 1) as f64).cos()).collect();
        close(&eigenvalues(&mut a, n), &expected);
    }

    #[test]
    fn a_full_matrix_with_chosen_eigenvalues() {
        // H diag H with the reflection H = I - 2 u uᵀ / uᵀu keeps the eigenvalues; two of them are equal.
        let chosen = [-3.0, 0.0, 0.5, 2.0, 2.0, 40.0];
        let n = chosen.len();
        let u = [1.0, -2.0, 0.5, 3.0, 1.5, -1.0];
        let square: f64 = u.iter().map(|v| v * v).sum();
        let h = |i: usize, j: usize| f64::from(i == j) - 2.0 * u[i] * u[j] / square;
        let mut a: Vec<f64> =
            (0..n * n).map(|e| (0..n).map(|k| h(e / n, k) * chosen[k] * h(k, e % n)).sum()).collect();
        close(&eigenvalues(&mut a, n), &chosen);
    }
}
