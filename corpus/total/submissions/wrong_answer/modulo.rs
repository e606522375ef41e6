// Wrong from 90 on: in the second secret case only.
use std::io::Read;

fn main() {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).unwrap();
    println!("{}", text.lines().skip(1).map(|x| x.parse::<i64>().unwrap()).sum::<i64>() % 90);
}
