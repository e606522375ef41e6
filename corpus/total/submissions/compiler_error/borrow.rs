// @EXPECTED_RESULTS@: COMPILER-ERROR
fn main() {
    let a = String::from("six");
    let b = a;
    println!("{} {}", a, b);
}
