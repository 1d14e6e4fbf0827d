//! Clauses 2 to 4: integer distances, the total order of candidates, the size of groups.

use quell::Plane;
use quell::bm3d::{Match, Params, PassPlan, Plan, Profile, grid, reference};

use crate::common::{check_planes, cpu, levels, picture, run, uniform, views, worst};

fn params(window: usize, group: usize, tau: f32) -> Params {
    let mut params = Profile::Original.params(25.0);
    for pass in [&mut params.hard, &mut params.wiener] {
        (pass.window, pass.group, pass.tau) = (window, group, tau);
    }
    params
}

fn first_pass(params: &Params, plane: &Plane) -> PassPlan {
    Plan::new(params, plane.width(), plane.height(), &[25.0]).unwrap().passes.remove(0)
}

#[test]
fn matches_are_in_total_order_behind_the_reference_patch() {
    let plane = picture(40, 33, 25.0, 3);
    for (window, group, tau) in [(39, 16, 2500.0), (11, 128, 2500.0), (11, 8, 900.0), (1, 4, 2500.0)] {
        let pass = first_pass(&params(window, group, tau), &plane);
        let guide = reference::Guide::new(pass.search(), &plane.view());
        for &y in &grid(33, 8, 3) {
            for &x in &grid(40, 8, 3) {
                let matches = guide.matches(x, y);
                assert_eq!(matches[0], Match { ssd: 0, dy: 0, dx: 0 });
                assert!(matches[1..].is_sorted() && matches.len() <= group);
                let r = window as i32 / 2;
                for m in &matches {
                    let (cx, cy) = (x as i32 + m.dx, y as i32 + m.dy);
                    assert!(m.dx.abs() <= r && m.dy.abs() <= r, "{m:?} is outside the window");
                    assert!((0..=32).contains(&cx) && (0..=25).contains(&cy), "{m:?} is outside the picture");
                    assert!(m.ssd <= pass.max_ssd);
                }
                assert_eq!(guide.group(x, y).len(), 1 << matches.len().ilog2());
            }
        }
    }
}

#[test]
fn no_candidate_is_left_out() {
    let plane = picture(30, 30, 25.0, 4);
    let pass = first_pass(&params(9, 128, 2500.0), &plane);
    let guide = reference::Guide::new(pass.search(), &plane.view());
    let q = |x: usize, y: usize| i32::from(pass.matching.quantise(plane.row(y)[x]));
    let ssd = |cx: usize, cy: usize| -> u32 {
        (0..64).map(|i| (q(10 + i % 8, 12 + i / 8) - q(cx + i % 8, cy + i / 8)).pow(2) as u32).sum()
    };
    let window = (8..=16).flat_map(|cy| (6..=14).map(move |cx| (cx, cy)));
    let similar = window.filter(|&(cx, cy)| ssd(cx, cy) <= pass.max_ssd).count();
    assert!(similar > 20);
    assert_eq!(guide.matches(10, 12).len(), similar);
}

#[test]
fn eight_bit_samples_keep_their_exact_distances() {
    // Whole numbers fall into the middle of a step: an error in the last bit changes no match.
    let plane = crate::common::eight_bit(32, 32, 25.0, 5);
    let shaken = crate::common::map(&plane, |v| v * (1.0 + f32::EPSILON));
    let pass = first_pass(&params(39, 16, 2500.0), &plane);
    let (a, b) = (
        reference::Guide::new(pass.search(), &plane.view()),
        reference::Guide::new(pass.search(), &shaken.view()),
    );
    for (x, y) in [(0, 0), (9, 6), (24, 24)] {
        assert_eq!(a.matches(x, y), b.matches(x, y));
    }
}

#[test]
fn ties_go_by_row_then_column_on_every_level() {
    // Every sample has the same matching value, so the order alone picks the groups; what is in them shows
    // in the result, because the samples themselves differ.
    let mut noise = uniform(6);
    let data = (0..48 * 40).map(|_| 100.0 + 0.9 * (noise() - 0.5)).collect();
    let plane = Plane::from_vec(48, 40, data).unwrap();
    for (window, group) in [(39, 16), (15, 32), (7, 8), (39, 2)] {
        let plan = Plan::new(&params(window, group, 400.0), 48, 40, &[0.2]).unwrap();
        check_planes(&plan, std::slice::from_ref(&plane), 0.002);
    }
}

#[test]
fn a_wrong_member_of_a_group_would_show() {
    // The Wiener filter has no threshold: f32 and f64 agree closely, and only as long as the groups are the same,
    // member by member.
    for (window, group, tau) in [(39, 32, 400.0), (21, 8, 100.0), (39, 16, 3000.0), (75, 128, 2000.0)] {
        let noisy = [picture(61, 50, 25.0, 8)];
        let both = Plan::new(&params(window, group, tau), 61, 50, &[25.0]).unwrap();
        let first = Plan { passes: both.passes[..1].to_vec(), ..both.clone() };
        for level in levels() {
            let cpu = cpu(level, 1, 0);
            let basic = run(&cpu, &first, &views(&noisy));
            let want = reference::pass(&both.passes[1], &views(&noisy), Some(&views(&basic)));
            let off = worst(&run(&cpu, &both, &views(&noisy))[0], &want[0]);
            assert!(off < 0.002, "{level:?}, window {window}, groups of {group}: off by {off}");
        }
    }
}
