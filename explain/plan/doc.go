// Package plan reads the output of EXPLAIN (FORMAT JSON) of PostgreSQL 14 to 18
// into a tree and works out what a reader wants to know of each node: rows times
// loops, the time and the blocks spent in the node itself, how far the estimate
// was off. It knows no server and no SQL; conditions stay text.
//
// What EXPLAIN prints and what the numbers mean:
//   - "Actual Rows", "Actual Total Time" and "Rows Removed by …" are averages
//     per loop; since 18 the rows carry a fraction. Blocks are totals.
//   - a node's time and blocks include those of its children, of the InitPlans
//     it is the first to ask for and, for a CTE Scan, of the CTE it reads first;
//   - under Gather, loops count every process, so a node's share of wall time is
//     its time per loop times loops over processes.
package plan
