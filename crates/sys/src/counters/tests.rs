use super::*;

#[test]
fn cpu_lists_are_read_as_the_kernel_writes_them() {
    let check = |text: &str, expected: Option<&[u32]>| {
        assert_eq!(parse_cpu_list(text).as_deref(), expected, "{text:?}");
    };
    check("0-1\n", Some(&[0, 1]));
    check("3", Some(&[3]));
    check("0-2,5,7-8", Some(&[0, 1, 2, 5, 7, 8]));
    check("\n", Some(&[]));
    check("a-b", None);
}
