// Package tui is the terminal UI: one tea.Model that shows one server's
// snapshots, judged by the pure packages below it.
//
// # How it is put together
//
// update.go only routes: a message goes to the part that owns it. Nothing in
// Update reads a clock, a file or a server; that happens in the Cmds of
// cmds.go, which touch the link and never the model. View is a function of the
// model alone: time comes in with messages.
//
// The screen has four parts (layout.go): a header line about the server, a
// title line with the views, the path and the state of the reading, the body,
// and a footer with the keys that apply now. The body belongs to the screen on
// top of the current view's stack; overlays (help, palette, dialogs) lie above.
//
// # Adding a screen
//
// Implement screen (screen.go) in a file of its own, add it to views. A screen
// is a plain struct: load takes the next frame (a snapshot with its usage and
// history), want adds what the screen needs to the next tick, act answers an
// action by a result (push a screen, open a dialog, copy, say something), draw
// gives exactly the lines it was sized for. When list returns a table (or the
// table of a tree), moving, filtering, sorting, widening and scrolling work
// without more. Optional interfaces: folder for trees, queryWanter for screens
// that show a full statement.
//
// Keys are declared once in keys.go, colours and glyphs once in package theme.
// Text from the server goes through theme.Paint, Line, Fit or a table cell,
// which clean it; nothing else may reach a line.
package tui
