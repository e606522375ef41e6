use std::io::Read;

fn main() {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).unwrap();
    let n: usize = text.lines().next().unwrap().parse().unwrap();
    let sum: i64 = text.lines().skip(1).map(|x| x.parse::<i64>().unwrap()).sum();
    if n == 13 {
        panic!("unlucky");
    }
    println!("{}", sum);
}
