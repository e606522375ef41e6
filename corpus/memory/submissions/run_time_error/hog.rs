fn main() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let n: usize = line.trim().parse().unwrap();
    let memory: Vec<Vec<u8>> = (0..n).map(|i| vec![1 + (i % 9) as u8; 1 << 20]).collect();
    println!("{}", memory.len());
}
