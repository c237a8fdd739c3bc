//! Tells the generator whether it is optimised: assertions may be on in a build that is, so nothing
//! else in the code knows.

fn main() {
    let is_optimised = std::env::var("OPT_LEVEL").is_ok_and(|level| level != "0");
    println!("cargo::rustc-check-cfg=cfg(optimised)");
    if is_optimised {
        println!("cargo::rustc-cfg=optimised");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
