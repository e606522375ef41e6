fn main() {
    let mut all: Vec<Vec<usize>> = Vec::new();
    loop {
        all.push(vec![all.len(); 1 << 12]);
    }
}
