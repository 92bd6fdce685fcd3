package tui

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
)

// action is what a key asks for. A key means the same on every screen.
type action int

const (
	none action = iota
	actUp
	actDown
	actPageUp
	actPageDown
	actTop
	actBottom
	actLeft
	actRight
	actEnter
	actBack
	actQuit
	actAbort
	actSuspend
	actNextView
	actPrevView
	actView
	actFilter
	actSort
	actReverse
	actWide
	actPause
	actRefresh
	actSlower
	actFaster
	actOlder
	actNewer
	actCopy
	actCopyQuery
	actExplain
	actPaste
	actAnalyze
	actCase
	actMetric
	actDetail
	actJSON
	actFollow
	actPath
	actWhatIf
	actFindings
	actCancel
	actTerminate
	actHelp
	actPalette
)

type binding struct {
	key.Binding
	act   action
	group string
}

func bind(a action, group, help, desc string, keys ...string) binding {
	return binding{key.NewBinding(key.WithKeys(keys...), key.WithHelp(help, desc)), a, group}
}

// bindings declares every key, in the order of the help.
func bindings() []binding {
	const move, look, open, read, end, leave = "Move", "Look", "Go", "Read", "End", "Leave"
	return []binding{
		bind(actUp, move, "↑ k", "up", "up", "k"),
		bind(actDown, move, "↓ j", "down", "down", "j"),
		bind(actPageUp, move, "pgup ctrl+u", "half a page up", "pgup", "ctrl+u", "ctrl+b"),
		bind(actPageDown, move, "pgdn ctrl+d", "half a page down", "pgdown", "ctrl+d", "ctrl+f"),
		bind(actTop, move, "g", "first row", "g", "home"),
		bind(actBottom, move, "G", "last row", "G", "end"),
		bind(actLeft, move, "← h", "fold, scroll left", "left", "h"),
		bind(actRight, move, "→ l", "unfold, scroll right", "right", "l"),
		bind(actFilter, look, "/", "filter, !text inverts", "/"),
		bind(actSort, look, "s", "sort by the next column", "s"),
		bind(actReverse, look, "S", "reverse the order", "S"),
		bind(actWide, look, "w", "all columns", "w"),
		bind(actCopy, look, "y", "copy the row's name", "y"),
		bind(actCopyQuery, look, "Y", "copy the statement", "Y"),
		bind(actFollow, look, "o", "follow, or no longer", "o"),
		bind(actPath, look, "z", "path, to the root only", "z"),
		bind(actCancel, end, "C", "cancel, asks before", "C"),
		bind(actTerminate, end, "K", "terminate, asks before", "K"),
		bind(actEnter, open, "enter", "open", "enter"),
		bind(actExplain, open, "x", "explain its statement", "x"),
		bind(actPaste, open, "e", "explain typed SQL", "e"),
		bind(actAnalyze, open, "a", "run with ANALYZE", "a"),
		bind(actCase, look, "c", "next case of the plan", "c"),
		bind(actMetric, look, "m", "next metric", "m"),
		bind(actDetail, look, "d", "all of each plan node", "d"),
		bind(actJSON, look, "J", "the plan as JSON", "J"),
		bind(actFindings, open, "f", "all findings", "f"),
		bind(actWhatIf, open, "p", "what if, other sizes", "p"),
		bind(actBack, open, "esc", "back", "esc"),
		bind(actView, open, "1-9", "view", "1", "2", "3", "4", "5", "6", "7", "8", "9"),
		bind(actNextView, open, "tab", "next view", "tab"),
		bind(actPrevView, open, "shift+tab", "previous view", "shift+tab"),
		bind(actPause, read, "space", "pause", "space"),
		bind(actRefresh, read, "r", "read now", "r"),
		bind(actFaster, read, "+", "read more often", "+", "="),
		bind(actSlower, read, "-", "read less often", "-"),
		bind(actOlder, read, "[", "one reading back", "["),
		bind(actNewer, read, "]", "one reading forward", "]"),
		bind(actPalette, leave, ":", "go to, do", ":"),
		bind(actHelp, leave, "?", "help", "?", "f1"),
		bind(actQuit, leave, "q", "back, at the top quit", "q"),
		bind(actAbort, leave, "ctrl+c", "quit at once", "ctrl+c"),
		bind(actSuspend, leave, "ctrl+z", "suspend", "ctrl+z"),
	}
}

// keymap finds the action of a key press.
type keymap struct {
	all   []binding
	byKey map[string]action
}

func newKeymap() keymap {
	k := keymap{all: bindings(), byKey: map[string]action{}}
	for _, b := range k.all {
		for _, s := range b.Keys() {
			k.byKey[s] = b.act
		}
	}
	return k
}

// without is the keymap that lacks some actions.
func (k keymap) without(acts ...action) keymap {
	out := keymap{byKey: map[string]action{}}
	for _, b := range k.all {
		if slices.Contains(acts, b.act) {
			continue
		}
		out.all = append(out.all, b)
		for _, s := range b.Keys() {
			out.byKey[s] = b.act
		}
	}
	return out
}

// short is the key and the word for the footer.
func (k keymap) short(a action) (keys, word string) {
	for _, b := range k.all {
		if b.act == a {
			word, _, _ = strings.Cut(b.Help().Desc, ",")
			switch a {
			case actSort:
				word = "sort"
			case actCopyQuery:
				word = "copy SQL"
			case actCopy:
				word = "copy"
			case actWide:
				word = "wide"
			case actExplain:
				word = "explain"
			case actPaste:
				word = "type SQL"
			case actAnalyze:
				word = "analyze"
			case actCase:
				word = "case"
			case actMetric:
				word = "metric"
			case actDetail:
				word = "detail"
			case actFindings:
				word = "findings"
			case actJSON:
				word = "JSON"
			}
			return b.Help().Key, word
		}
	}
	return "", ""
}

// KeyTable is the keys as a Markdown table, for the README.
func KeyTable() string {
	var b strings.Builder
	b.WriteString("| key | does |\n|---|---|\n")
	for _, k := range bindings() {
		var keys []string
		for f := range strings.FieldsSeq(k.Help().Key) {
			keys = append(keys, "`"+f+"`")
		}
		b.WriteString("| " + strings.Join(keys, " ") + " | " + k.Help().Desc + " |\n")
	}
	return b.String()
}
