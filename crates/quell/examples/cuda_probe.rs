//! Lists the CUDA devices of this machine and tests the runtime on each; `--lose` also loses the device on purpose.

fn main() -> quell::Result<()> {
    #[cfg(feature = "cuda")]
    {
        quell::device::on_notice(|text| eprintln!("{text}"));
        println!("{}", quell::device::cuda::self_test(std::env::args().any(|a| a == "--lose"))?);
    }
    #[cfg(not(feature = "cuda"))]
    println!("built without the feature cuda");
    Ok(())
}
