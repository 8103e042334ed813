//! Functions of Python that hear how far work is, and may stop it.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Mutex;

#[cfg(feature = "stubs")]
use pyo3::inspect::{PyStaticConstant, PyStaticExpr};
use pyo3::prelude::*;

/// A function that gets what is done and what there is to do in all, and may raise to stop.
pub(crate) struct Progress(Py<PyAny>);

impl FromPyObject<'_, '_> for Progress {
    type Error = Infallible;

    #[cfg(feature = "stubs")]
    const INPUT_TYPE: PyStaticExpr = pyo3::type_hint_subscript!(
        pyo3::type_hint_identifier!("collections.abc", "Callable"),
        PyStaticExpr::List { elts: &[u64::OUTPUT_TYPE, u64::OUTPUT_TYPE] },
        PyStaticExpr::Constant { value: PyStaticConstant::None }
    );

    fn extract(function: Borrowed<'_, '_, PyAny>) -> Result<Self, Infallible> {
        Ok(Self(function.to_owned().unbind()))
    }
}

impl Progress {
    /// Reports the progress; a Python exception or a signal stops the work and is kept.
    fn tell(&self, done: u64, total: u64, raised: &Mutex<Option<PyErr>>) -> ControlFlow<()> {
        let answer = Python::attach(|py| {
            py.check_signals()?;
            self.0.call1(py, (done, total)).map(drop)
        });
        match answer {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                if let Ok(mut raised) = raised.lock() {
                    raised.get_or_insert(error);
                }
                ControlFlow::Break(())
            }
        }
    }
}

/// Does work without Python's lock; it gets a function for its progress. Fails with what that raised, or with the work's own error.
pub(crate) fn stoppable<T: Send, E: Send>(
    py: Python<'_>,
    progress: &Progress,
    error: impl Fn(E) -> PyErr,
    work: impl FnOnce(&(dyn Fn(u64, u64) -> ControlFlow<()> + Sync)) -> Result<T, E> + Send,
) -> PyResult<T> {
    let raised = Mutex::new(None);
    let done = py.detach(|| work(&|done, total| progress.tell(done, total, &raised)));
    match raised.into_inner() {
        Ok(Some(raised)) => Err(raised),
        _ => done.map_err(error),
    }
}
