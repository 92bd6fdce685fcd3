package theme

// Glyphs are the signs of a theme; every one has an ASCII stand-in.
type Glyphs struct {
	Ellipsis string
	Rule     string // a horizontal line, one cell
	Bar      string // between two panes, one cell
	Select   string // before the selected row, one cell
	Full     string // a full cell of a bar
	Rest     string // a free cell of a bar
	Kept     string // a cell of a bar that is kept back
	Eighths  []string
	Sparks   []string // from the lowest to the highest
	Up, Down string   // sort order
	Open     string   // a tree node that shows its children
	Closed   string   // … and one that hides them
	Tee      string   // a child that has a younger sibling
	Elbow    string   // the youngest child
	Pipe     string   // a line past this row
	AtMost   string   // before an upper bound
	AtLeast  string   // before a lower bound
	None     string   // not applicable
	Dot      string   // between two facts
	Corners  [4]string

	SoftTee, SoftElbow string // a child that is only queued behind
	Arrow              string // before what to do; two cells in ASCII
}

func unicodeGlyphs() Glyphs {
	return Glyphs{
		Ellipsis: "…", Rule: "─", Bar: "│", Select: "▌",
		Full: "█", Rest: "·", Kept: "░",
		Eighths: []string{"▏", "▎", "▍", "▌", "▋", "▊", "▉"},
		Sparks:  []string{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
		Up:      "▲", Down: "▼", Open: "▾", Closed: "▸",
		Tee: "├─ ", Elbow: "└─ ", Pipe: "│  ",
		AtMost: "≤", AtLeast: "≥", None: "–", Dot: "·",
		Corners: [4]string{"┌", "┐", "└", "┘"},
		SoftTee: "├╌ ", SoftElbow: "└╌ ", Arrow: "→",
	}
}

func asciiGlyphs() Glyphs {
	return Glyphs{
		Ellipsis: "..", Rule: "-", Bar: "|", Select: ">",
		Full: "#", Rest: ".", Kept: "x",
		Sparks: []string{"_", ".", "-", "=", "+", "*", "#"},
		Up:     "^", Down: "v", Open: "-", Closed: "+",
		Tee: "|- ", Elbow: "`- ", Pipe: "|  ",
		AtMost: "<=", AtLeast: ">=", None: "-", Dot: "-",
		Corners: [4]string{"+", "+", "+", "+"},
		SoftTee: "|~ ", SoftElbow: "`~ ", Arrow: "->",
	}
}
