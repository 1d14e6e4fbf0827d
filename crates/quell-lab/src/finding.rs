//! What was found, in a sentence: the title of a section says it.

use crate::catalogue::{Experiment, Finding};
use crate::report::Point;

/// The sentence of an experiment; what it asks, where the rows do not tell.
pub(crate) fn finding(e: &Experiment, points: &[Point]) -> String {
    find(e, points).unwrap_or_else(|| e.question.clone())
}

fn find(e: &Experiment, points: &[Point]) -> Option<String> {
    let first = points.first()?.device.clone();
    let on: Vec<&Point> = points.iter().filter(|p| p.device == first).collect();
    match &e.finding {
        Finding::Gain { of, over } => {
            let gains: Vec<(f32, f64)> =
                pairs(&on, of, over).filter_map(|(a, b)| Some((a.sigma, a.psnr? - b.psnr?))).collect();
            let times: Vec<f64> = pairs(&on, of, over).filter_map(|(a, b)| Some(a.ms? / b.ms?)).collect();
            let (least, most) = span(gains.iter().map(|g| g.1))?;
            let (word, near, far) =
                if most <= -0.005 { ("less", -most, -least) } else { ("more", least, most) };
            let gain =
                if far - near < 0.05 { db((near + far) / 2.0) } else { format!("{near:.2} to {}", db(far)) };
            Some(format!("{of}: {gain} {word} than {over}, in {} times the time", number(mean(&times)?)))
        }
        Finding::Share { of, over } => {
            let shares: Vec<f64> = pairs(&on, of, over).filter_map(|(a, b)| Some(a.ms? / b.ms?)).collect();
            Some(format!("Pass 1 takes {:.0} % of the time of both", 100.0 * mean(&shares)?))
        }
        Finding::Slope { of } => {
            let points: Vec<(f64, f64)> = on
                .iter()
                .filter(|p| p.variant == *of)
                .filter_map(|p| Some((p.megapixels.ln(), p.ms?.ln())))
                .collect();
            let per = on
                .iter()
                .filter(|p| p.variant == *of)
                .filter_map(|p| Some(p.ms? / p.megapixels))
                .collect::<Vec<_>>();
            Some(format!(
                "{of}: {} ms a megapixel on {first}; time grows as pixels to the power of {:.2}",
                number(mean(&per)?),
                slope(&points)?
            ))
        }
        Finding::Best { within } => {
            let all = by_variant(&on);
            let (best, quality, _) = all.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
            let near = all.iter().filter(|(_, psnr, _)| *psnr >= quality - within);
            let (quick, _, ms) = near.min_by(|a, b| a.2.total_cmp(&b.2))?;
            let lead = format!("{best} is best: {quality:.2} dB");
            Some(if quick == best {
                format!("{lead}, and nothing that is faster comes within {within} dB")
            } else {
                format!("{lead}; {quick} is the fastest within {within} dB, in {} ms", number(*ms))
            })
        }
        Finding::Enough { within } => {
            let all = by_variant(&on);
            let most = all.iter().map(|v| v.1).fold(f64::NEG_INFINITY, f64::max);
            let (enough, psnr, _) = all.iter().find(|(_, psnr, _)| *psnr >= most - within)?;
            Some(format!("{enough} is enough: {:.2} dB below the best there is", most - psnr))
        }
        Finding::Spread => {
            let mut widest = 0.0f64;
            for sigma in sigmas(&on) {
                let (low, high) = span(on.iter().filter(|p| p.sigma == sigma).filter_map(|p| p.psnr))?;
                widest = widest.max(high - low);
            }
            Some(format!("It matters by {} at most", db(widest)))
        }
        Finding::Range => {
            let all = by_variant(&on);
            let (first, last) = (all.first()?, all.last()?);
            Some(format!("From {} to {}: {} times the time", first.0, last.0, number(last.2 / first.2)))
        }
        Finding::Speed => {
            let all = by_variant(&on);
            let texts: Vec<String> = all.iter().map(|(v, _, ms)| format!("{v} {} ms", number(*ms))).collect();
            Some(format!("On {first}: {}", texts.join(", ")))
        }
        Finding::Tiles => {
            let of = |tile: usize| on.iter().find(|p| p.tile == tile);
            let (whole, least) = (of(0)?, on.iter().filter(|p| p.tile > 0).min_by_key(|p| p.tile)?);
            let memory = whole.memory?.max(1.0) / least.memory?.max(1.0);
            Some(format!(
                "Tiles of {} need {} of the memory and {} times the time",
                least.tile,
                part(memory),
                number(least.ms? / whole.ms?)
            ))
        }
        Finding::Levels => {
            let times: Vec<(String, f64)> =
                on.iter().filter_map(|p| Some((p.level.clone()?, p.ms?))).collect();
            let (slow, fast) = (times.first()?, times.last()?);
            Some(format!("{} is {} times as fast as {}", fast.0, number(slow.1 / fast.1), slow.0))
        }
        Finding::Threads => {
            let variant = &on.first()?.variant;
            let of =
                |n: usize| on.iter().find(|p| p.threads == n && p.variant == *variant).and_then(|p| p.ms);
            let most = on.iter().map(|p| p.threads).max()?;
            Some(format!("{variant}: {most} threads are {} times as fast as one", number(of(1)? / of(most)?)))
        }
        Finding::Past => {
            let gain = |v: &str| {
                let mut of: Vec<&&Point> = on.iter().filter(|p| p.variant == v).collect();
                of.sort_by_key(|p| p.past);
                Some((of.last()?.psnr? - of.first()?.psnr?, of.last()?.past?))
            };
            let names = names(&on);
            let best =
                names.iter().filter_map(|v| Some((v, gain(v)?))).max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
            Some(if best.1.0 < 0.05 {
                "Other frames give nothing on this clip".into()
            } else {
                format!("{} other frames give up to {} ({})", best.1.1, db(best.1.0), best.0)
            })
        }
        Finding::Displacement => {
            let cost = |p: &&Point| Some(p.ms? * 1e6 / (p.value?.powi(2) * p.megapixels * 1e6));
            let costs: Vec<f64> = on.iter().filter_map(cost).collect();
            let (low, high) = span(costs.into_iter())?;
            Some(format!("A displacement costs {} to {} ns a pixel on {first}", number(low), number(high)))
        }
        Finding::Estimate => {
            let error = |v: &str| {
                mean(&on.iter().filter(|p| p.variant == v).filter_map(|p| p.error).collect::<Vec<_>>())
            };
            let names = names(&on);
            let best =
                names.iter().filter_map(|v| Some((v, error(v)?))).min_by(|a, b| a.1.total_cmp(&b.1))?;
            Some(format!("{} is off by {:.1} % on average", best.0, best.1))
        }
        Finding::Real => {
            let gains = on.iter().filter_map(|p| Some((p, p.psnr? - p.psnr_noisy?)));
            let (best, gain) = gains.max_by(|a, b| a.1.total_cmp(&b.1))?;
            Some(format!("{} gains {} on {} photographs", best.variant, db(gain), best.pictures))
        }
    }
}

/// What two variants have in common but their names.
fn pairs<'a>(on: &'a [&Point], of: &'a str, over: &'a str) -> impl Iterator<Item = (&'a Point, &'a Point)> {
    on.iter().filter(move |p| p.variant == of).filter_map(move |a| {
        let same =
            |b: &&&Point| b.variant == over && (b.sigma, &b.size, b.past) == (a.sigma, &a.size, a.past);
        Some((*a, *on.iter().find(same)?))
    })
}

fn names(on: &[&Point]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for p in on {
        if !names.contains(&p.variant) {
            names.push(p.variant.clone());
        }
    }
    names
}

fn sigmas(on: &[&Point]) -> Vec<f32> {
    let mut all: Vec<f32> = on.iter().map(|p| p.sigma).collect();
    all.sort_by(f32::total_cmp);
    all.dedup();
    all
}

/// Name, PSNR and milliseconds of each variant, over everything.
fn by_variant(on: &[&Point]) -> Vec<(String, f64, f64)> {
    let of = |name: String| {
        let all: Vec<&&Point> = on.iter().filter(|p| p.variant == name).collect();
        let psnr = mean(&all.iter().filter_map(|p| p.psnr).collect::<Vec<_>>())?;
        let ms = mean(&all.iter().filter_map(|p| p.ms).collect::<Vec<_>>())?;
        Some((name, psnr, ms))
    };
    names(on).into_iter().filter_map(of).collect()
}

pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn span(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let all: Vec<f64> = values.collect();
    let low = all.iter().copied().fold(f64::INFINITY, f64::min);
    (!all.is_empty()).then(|| (low, all.iter().copied().fold(f64::NEG_INFINITY, f64::max)))
}

/// The slope of a line through points, by least squares.
pub(crate) fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let n = points.len() as f64;
    let (mx, my) = (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let xx: f64 = points.iter().map(|p| (p.0 - mx).powi(2)).sum();
    (points.len() > 1 && xx > 0.0).then(|| points.iter().map(|p| (p.0 - mx) * (p.1 - my)).sum::<f64>() / xx)
}

fn db(v: f64) -> String {
    format!("{v:.2} dB")
}

/// Three figures.
pub(crate) fn number(v: f64) -> String {
    let places = if v.abs() >= 99.5 {
        0
    } else if v.abs() >= 9.95 {
        1
    } else if v.abs() >= 0.995 {
        2
    } else {
        3
    };
    format!("{v:.places$}")
}

/// `a third` of something that is so many times as much.
fn part(times: f64) -> String {
    format!("1/{times:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_slopes_and_numbers_three_figures() {
        assert!((slope(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]).unwrap() - 2.0).abs() < 1e-9);
        assert_eq!(slope(&[(1.0, 1.0)]), None);
        assert_eq!(
            [number(1234.4), number(12.34), number(1.234), number(0.1234)],
            ["1234", "12.3", "1.23", "0.123"]
        );
    }
}
