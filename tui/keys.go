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

// bindings declares every key, in the order of the help and by where it works.
func bindings() []binding {
	const (
		every = "Everywhere"
		read  = "Everywhere: reading"
		lists = "Lists"
		roles = "Roles, Poolers"
		one   = "A session (Sessions, Locks)"
		locks = "Locks"
		expl  = "Explain"
	)
	return []binding{
		bind(actView, every, "1-9", "view", "1", "2", "3", "4", "5", "6", "7", "8", "9"),
		bind(actNextView, every, "tab", "next view", "tab"),
		bind(actPrevView, every, "shift+tab", "previous view", "shift+tab"),
		bind(actEnter, every, "enter", "open", "enter"),
		bind(actBack, every, "esc", "back, clear the filter", "esc"),
		bind(actQuit, every, "q", "back, at the top quit", "q"),
		bind(actPalette, every, ":", "go to, do", ":"),
		bind(actHelp, every, "?", "help", "?", "f1"),
		bind(actAbort, every, "ctrl+c", "quit at once", "ctrl+c"),
		bind(actSuspend, every, "ctrl+z", "suspend", "ctrl+z"),
		bind(actPause, read, "space", "pause", "space"),
		bind(actRefresh, read, "r", "read now", "r"),
		bind(actFaster, read, "+", "read more often", "+", "="),
		bind(actSlower, read, "-", "read less often", "-"),
		bind(actOlder, read, "[", "one reading back", "["),
		bind(actNewer, read, "]", "one reading forward", "]"),
		bind(actUp, lists, "↑ k", "up", "up", "k"),
		bind(actDown, lists, "↓ j", "down", "down", "j"),
		bind(actPageUp, lists, "pgup ctrl+u", "half a page up", "pgup", "ctrl+u", "ctrl+b"),
		bind(actPageDown, lists, "pgdn ctrl+d", "half a page down", "pgdown", "ctrl+d", "ctrl+f"),
		bind(actTop, lists, "g", "first row", "g", "home"),
		bind(actBottom, lists, "G", "last row", "G", "end"),
		bind(actLeft, lists, "← h", "fold, scroll left", "left", "h"),
		bind(actRight, lists, "→ l", "unfold, scroll right", "right", "l"),
		bind(actFilter, lists, "/", "filter, !text inverts", "/"),
		bind(actSort, lists, "s", "sort by the next column", "s"),
		bind(actReverse, lists, "S", "reverse the order", "S"),
		bind(actWide, lists, "w", "all columns", "w"),
		bind(actCopy, lists, "y", "copy the row, the fix", "y"),
		bind(actFindings, roles, "f", "all findings", "f"),
		bind(actWhatIf, roles, "p", "what if, other sizes", "p"),
		bind(actCancel, one, "C", "cancel, asks before", "C"),
		bind(actTerminate, one, "K", "terminate, asks before", "K"),
		bind(actExplain, one, "x", "explain its statement", "x"),
		bind(actCopyQuery, one, "Y", "copy the statement", "Y"),
		bind(actFollow, locks, "o", "follow, or no longer", "o"),
		bind(actPath, locks, "z", "path, to the root only", "z"),
		bind(actPaste, expl, "e", "explain typed SQL", "e"),
		bind(actAnalyze, expl, "a", "run with ANALYZE", "a"),
		bind(actCase, expl, "c", "next case of the plan", "c"),
		bind(actMetric, expl, "m", "next metric", "m"),
		bind(actDetail, expl, "d", "all of each plan node", "d"),
		bind(actJSON, expl, "J", "the plan as JSON", "J"),
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
