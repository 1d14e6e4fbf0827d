//! A round alone, and its groups, for checks.

use super::{Kernels, KernelsKey, Rounds, check, rounds, search};
use crate::device::Samples;
use crate::device::gpu::bm3d::counts::{Counted, Counts};
use crate::device::gpu::bm3d::geometry::{Geometry, MARGIN};
use crate::device::gpu::bm3d::kernels::Kind;
use crate::device::gpu::bm3d::pass::Steps;
use crate::device::gpu::bm3d::program::{Format, PlaneFormat};
use crate::device::gpu::clock::Clock;
use crate::device::gpu::growing::Growing;
use crate::device::gpu::{Gpu, GpuResult, Runtime, Stop};
use crate::ridge::Plan;
use crate::ridge::reference::Group;
use crate::{Control, Plane, PlaneView, Result};

impl<R: Runtime> Gpu<R> {
    /// Does `work` on rounds whose planes have these channels: noisy, the estimate, what has noise left; averages of frames,
    /// if there are `counts`.
    fn probed<T>(
        &self,
        plan: &Plan,
        [noisy, x, z]: [&[PlaneView<'_>]; 3],
        counts: Option<&Samples<'_>>,
        work: impl FnOnce(&mut Rounds<'_, R>, &mut Steps<'_>) -> Result<T, Stop>,
    ) -> Result<T> {
        let pilot = check(plan)?;
        let all = || -> Result<T, Stop> {
            let runtime = &*self.runtime;
            let kind = Kind { frames: counts.map(|counts| Counted::new(*counts).most), ..Kind::FLOATS };
            let key = KernelsKey::new(plan, &kind, PlaneFormat::Float);
            let kernels = Kernels::new(runtime, &self.library, &key)?;
            let geometry = Geometry::new(pilot, plan.width, plan.height);
            let mut slot = self.bm3d.slots.take(runtime)?;
            let (kernels, place) = (&kernels, slot.whole());
            let counted =
                counts.map(|_| Counts::behind(0, plan.width * plan.height, plan.width, Format::F32));
            let mut run = Rounds { runtime, kernels, plan, geometry, centre: 0.0, counts: counted, place };
            run.allocate()?;
            let (queue, buffers) = (run.place.queue, &mut *run.place.buffers);
            let zeroed = |n: usize| -> GpuResult<R::Buffer> {
                let buffer = runtime.alloc(n)?;
                runtime.zero(queue, &buffer, n)?;
                Ok(buffer)
            };
            let elements = geometry.elements();
            buffers.guide.get(elements.next_multiple_of(4), zeroed)?;
            buffers.norms.get(4 * elements, zeroed)?;
            buffers.difficult.get(4, zeroed)?;
            let planes = [(&mut buffers.noisy, noisy), (&mut buffers.sums, x), (&mut buffers.ridge.z, z)];
            for (to, from) in planes {
                to.resize_with(to.len().max(from.len()), Growing::default);
                for (to, from) in to.iter_mut().zip(from) {
                    let to = to.get(4 * elements, zeroed)?;
                    self.put(queue, to, from, geometry)?;
                }
            }
            if let Some(counts) = counts {
                let bytes = 4 * counts.len();
                let mut staging = runtime.staging(bytes)?;
                Counted::new(*counts).copy(0, &mut staging[..bytes]);
                runtime.write(queue, buffers.samples.get(bytes, zeroed)?, &staging, bytes)?;
                runtime.finish(queue)?;
            }
            let control = Control::new();
            work(&mut run, &mut Steps { control: &control, done: 0, total: 1 })
        };
        all().map_err(|stop| self.stopped(stop))
    }

    /// A plane into device memory.
    fn put(&self, queue: &R::Queue, to: &R::Buffer, from: &PlaneView<'_>, g: Geometry) -> GpuResult<()> {
        let bytes = 4 * g.elements();
        let mut staging = self.runtime.staging(bytes)?;
        staging[..bytes].fill(0);
        for (y, row) in from.rows().enumerate() {
            let first = 4 * ((y + MARGIN) * g.pitch + MARGIN);
            let to = staging[first..].as_chunks_mut().0;
            to.iter_mut().zip(row).for_each(|(to, v)| *to = v.to_ne_bytes());
        }
        self.runtime.write(queue, to, &staging, bytes)?;
        self.runtime.finish(queue)
    }

    /// Planes out of device memory.
    fn got(&self, run: &Rounds<'_, R>, from: &[Growing<R::Buffer>]) -> GpuResult<Vec<Plane>> {
        let (g, plan) = (run.geometry, run.plan);
        let bytes = 4 * g.elements();
        let plane = |buffer: &Growing<R::Buffer>| {
            let mut staging = self.runtime.staging(bytes)?;
            self.runtime.read(run.place.queue, &mut staging, rounds::peek(buffer)?, bytes)?;
            self.runtime.finish(run.place.queue)?;
            let mut plane = Plane::zeros(plan.width, plan.height);
            for y in 0..plan.height {
                let first = 4 * ((y + MARGIN) * g.pitch + MARGIN);
                let row = staging[first..].as_chunks().0;
                plane.row_mut(y).iter_mut().zip(row).for_each(|(to, &v)| *to = f32::from_ne_bytes(v));
            }
            Ok(plane)
        };
        from[..plan.channels()].iter().map(plane).collect()
    }

    /// The groups of a round that groups anew, by rows and columns of its grid.
    pub(crate) fn read_ridge_groups(
        &self,
        plan: &Plan,
        index: usize,
        x: &PlaneView<'_>,
        z: &PlaneView<'_>,
    ) -> Result<Vec<Group>> {
        let one = Plan { sigma: plan.sigma[..1].to_vec(), ..plan.clone() };
        let numbers = self.probed(&one, [&[*z], &[*x], &[*z]], None, |run, steps| {
            run.groups(index, &mut Clock::off(), steps)?;
            let lists = &run.place.buffers.ridge.lists;
            let bytes = 2 * rounds::entries(plan, index);
            let mut staging = self.runtime.staging(bytes)?;
            self.runtime.read(run.place.queue, &mut staging, rounds::peek(lists)?, bytes)?;
            self.runtime.finish(run.place.queue)?;
            let numbers = staging[..bytes].as_chunks().0.iter();
            Ok(numbers.map(|&v| u16::from_ne_bytes(v)).collect::<Vec<_>>())
        })?;
        let search = search(plan, index);
        let (xs, ys) = (search.grid(plan.width + 2), search.grid(plan.height + 2));
        let side = 2 * search.radius + 1;
        let places = ys.iter().flat_map(|&y| xs.iter().map(move |&x| (x, y)));
        let group = |(list, (x, y)): (&[u16], (usize, usize))| {
            let members = list.iter().map(|&n| usize::from(n)).take_while(|&n| n < side * side);
            // A wrong list is to be seen, not to stop the check.
            let there = |from: usize, by: usize| (from + by).wrapping_sub(search.radius);
            members.map(|n| (there(x, n % side), there(y, n / side))).collect()
        };
        Ok(numbers.chunks_exact(search.group).zip(places).map(group).collect())
    }

    /// One round that groups anew, of averages of frames if there are `counts`: the next estimate, and what has noise left.
    pub(crate) fn one_ridge_round(
        &self,
        plan: &Plan,
        index: usize,
        noisy: &[PlaneView<'_>],
        x: &[PlaneView<'_>],
        z: &[PlaneView<'_>],
        counts: Option<&Samples<'_>>,
    ) -> Result<(Vec<Plane>, Vec<Plane>)> {
        self.probed(plan, [noisy, x, z], counts, |run, steps| {
            run.round(index, false, &mut Clock::off(), steps)?;
            let buffers = &run.place.buffers;
            Ok((self.got(run, &buffers.sums)?, self.got(run, &buffers.ridge.z)?))
        })
    }
}
