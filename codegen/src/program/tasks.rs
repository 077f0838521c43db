//! Task graphs of a program: which kernels the runtime runs as one parallel region.

use super::Program;
use tcc_runtime::package::{BindTime, TaskGraph};

impl Program {
    /// Makes each run of kernels whose sizes are known when shapes are bound a task graph. What is between, control
    /// flow and the runtime's own routines, stays on the calling thread.
    pub fn form_task_graphs(&mut self) {
        let bind_time = BindTime::new(&self.manifest);
        let graphs: Vec<Vec<TaskGraph>> = self
            .manifest
            .blocks
            .iter()
            .map(|block| {
                let mut first = 0;
                let runs = block.steps.chunk_by(|a, b| bind_time.schedules(a) == bind_time.schedules(b));
                runs.filter_map(|run| {
                    let graph = TaskGraph { first, steps: run.len() as u32 };
                    first += graph.steps;
                    (run.len() > 1 && bind_time.schedules(&run[0])).then_some(graph)
                })
                .collect()
            })
            .collect();
        for (block, graphs) in self.manifest.blocks.iter_mut().zip(graphs) {
            block.task_graphs = graphs;
        }
    }
}
