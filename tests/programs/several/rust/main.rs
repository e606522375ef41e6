mod add;

fn main() {
    println!("{}", add::add(40, 2));
}
