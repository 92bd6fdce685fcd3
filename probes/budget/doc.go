// Package budget is the connection budget: the file, its arithmetic, who is
// who, and live use held against it. All of it is pure.
package budget
