fn depth(n: u64) -> u64 {
    let room = [n; 8];
    let below = unsafe { std::ptr::read_volatile(&room[7]) };
    if below == 0 {
        0
    } else {
        1 + depth(below - 1)
    }
}

fn main() {
    println!("{}", depth(1000000));
}
