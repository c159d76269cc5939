// Built by the tests: Rust with generics, closures and a trait.
use std::collections::BTreeMap;

trait Weigh {
    fn weigh(&self) -> u64;
}

struct Crate<T> {
    items: Vec<T>,
}

impl<T: Into<u64> + Copy> Weigh for Crate<T> {
    #[inline(never)]
    fn weigh(&self) -> u64 {
        self.items.iter().map(|i| (*i).into() * 3).sum()
    }
}

mod depot {
    #[inline(never)]
    pub fn count<F: Fn(u64) -> bool>(limit: u64, keep: F) -> u64 {
        (0..limit).filter(|n| keep(*n)).count() as u64
    }
}

fn main() {
    let c = Crate { items: std::env::args().map(|a| a.len() as u32).collect() };
    let mut m = BTreeMap::new();
    m.insert("weight", c.weigh());
    m.insert("count", depot::count(c.weigh(), |n| n % 3 == 1));
    println!("{:?}", m);
}
