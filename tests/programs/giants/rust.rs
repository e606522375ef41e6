fn main() {
    println!("{}", vec![1u64; 1 << 40].len());
}
