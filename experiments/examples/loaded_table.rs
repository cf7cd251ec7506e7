// SPDX-License-Identifier: GPL-2.0-only
//! A server that loads a table and answers from threads on all nodes. One thread loads it, so that the memory of one node
//! serves all of them; with the argument "fixed" the table is interleaved over nodes 0 and 1 while it is loaded.
//!
//! rustc -O -g loaded_table.rs

use std::arch::asm;
use std::os::raw::{c_int, c_long, c_ulong};
use std::sync::Arc;
use std::thread;

const WORDS: usize = 2 << 20;
const QUERIES: usize = 100_000;
const SYS_SET_MEMPOLICY: c_long = 238;
const MPOL_DEFAULT: c_int = 0;
const MPOL_INTERLEAVE: c_int = 3;

extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
    fn sched_setaffinity(pid: c_int, size: usize, mask: *const c_ulong) -> c_int;
}

/// As numaplace_region.h: 2 begins a region, 3 ends it.
macro_rules! region {
    ($number:literal, $name:expr) => {
        unsafe {
            asm!(concat!(".byte 0x0f, 0x1f, 0x80, ", $number, ", 0x00, 0x70, 0x6e"),
                 in("rax") $name.as_ptr(), in("rcx") $name.len(), in("rdx") u64::from($name.as_bytes()[0]));
        }
    };
}

fn bind(cpu: usize) {
    let mask: c_ulong = 1 << cpu;
    unsafe { sched_setaffinity(0, 8, &mask) };
}

fn set_policy(mode: c_int, nodes: c_ulong) {
    unsafe { syscall(SYS_SET_MEMPOLICY, mode, &nodes as *const c_ulong, 64 as c_ulong) };
}

fn load() -> Vec<u64> {
    (0..WORDS as u64).collect()
}

#[inline(never)]
fn answer(table: &[u64], first: u64) -> u64 {
    let mut at = first;
    for _ in 0..QUERIES {
        at = at.wrapping_mul(6364136223846793005).wrapping_add(table[(at >> 33) as usize % WORDS] | 1);
    }
    at
}

fn main() {
    let cpus = thread::available_parallelism().map_or(1, |n| n.get());
    bind(0);
    let fixed = std::env::args().nth(1).is_some();
    if fixed {
        set_policy(MPOL_INTERLEAVE, 3);
    }
    let table = Arc::new(load());
    set_policy(MPOL_DEFAULT, 0);
    let threads: Vec<_> = (0..cpus)
        .map(|cpu| {
            let table = table.clone();
            thread::spawn(move || {
                bind(cpu);
                region!(2, "serve");
                let answered = answer(&table, cpu as u64);
                region!(3, "serve");
                answered
            })
        })
        .collect();
    let sum = threads.into_iter().fold(0u64, |sum, t| sum.wrapping_add(t.join().unwrap()));
    println!("{sum}");
}
