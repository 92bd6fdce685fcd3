package probes

import (
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// encodings knows which encoding the texts of each database are in. A session
// reads the others' query texts byte for byte as they are (client_encoding is
// SQL_ASCII), so each is decoded here by the encoding of its own database.
type encodings struct {
	byDB atomic.Pointer[map[uint32]string] // replaced whole by the slow clock
}

// set replaces the map of database oid to pg_encoding_to_char's name.
func (e *encodings) set(m map[uint32]string) { e.byDB.Store(&m) }

// decode gives UTF-8 for text of database db: what cannot be decoded stays
// visible as \xNN, nothing is dropped and nothing fails. A database that is not
// known is taken for UTF-8.
func (e *encodings) decode(db uint32, b []byte) string {
	if isASCII(b) {
		return string(b)
	}
	name := ""
	if e != nil {
		if m := e.byDB.Load(); m != nil {
			name = (*m)[db]
		}
	}
	return decodeText(name, b)
}

// decodeText decodes by PostgreSQL's name of an encoding. SQL_ASCII promises
// nothing: its bytes are shown as UTF-8 where they are that.
func decodeText(name string, b []byte) string {
	if isASCII(b) {
		return string(b)
	}
	enc := encodingOf(name)
	if enc == nil {
		return escapeUTF8(b)
	}
	if out, err := enc.NewDecoder().Bytes(b); err == nil && !strings.ContainsRune(string(out), utf8.RuneError) {
		return string(out)
	}
	return decodeStray(enc, b)
}

// decodeStray decodes character by character and escapes the bytes between.
func decodeStray(enc encoding.Encoding, b []byte) string {
	var sb strings.Builder
	for i := 0; i < len(b); {
		n := 1
		if b[i] < utf8.RuneSelf {
			sb.WriteByte(b[i])
		} else if s, size := oneCharacter(enc, b[i:]); size > 0 {
			sb.WriteString(s)
			n = size
		} else {
			writeEscaped(&sb, b[i])
		}
		i += n
	}
	return sb.String()
}

// oneCharacter finds the shortest prefix that decodes cleanly; size 0: none.
func oneCharacter(enc encoding.Encoding, b []byte) (s string, size int) {
	for n := 1; n <= 4 && n <= len(b); n++ {
		out, err := enc.NewDecoder().Bytes(b[:n])
		if err == nil && len(out) > 0 && !strings.ContainsRune(string(out), utf8.RuneError) {
			return string(out), n
		}
	}
	return "", 0
}

func escapeUTF8(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var sb strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			writeEscaped(&sb, b[0])
		} else {
			sb.Write(b[:n])
		}
		b = b[n:]
	}
	return sb.String()
}

func writeEscaped(sb *strings.Builder, b byte) {
	const hex = "0123456789abcdef"
	sb.WriteString(`\x`)
	sb.WriteByte(hex[b>>4])
	sb.WriteByte(hex[b&15])
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// trimPartial drops the incomplete UTF-8 character that a cut left at the end.
func trimPartial(b []byte) []byte {
	for i := 1; i <= 3 && i <= len(b); i++ {
		c := b[len(b)-i]
		if !utf8.RuneStart(c) {
			continue
		}
		if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-i:]) {
			return b[:len(b)-i]
		}
		break
	}
	return b
}

// encodingOf maps PostgreSQL's encoding names. nil: UTF8, SQL_ASCII and those
// nobody decodes (EUC_TW, JOHAB, MULE_INTERNAL). The 2004 editions of the
// Japanese encodings are read as their predecessors, which they extend.
func encodingOf(name string) encoding.Encoding {
	switch name {
	case "LATIN1":
		return charmap.ISO8859_1
	case "LATIN2":
		return charmap.ISO8859_2
	case "LATIN3":
		return charmap.ISO8859_3
	case "LATIN4":
		return charmap.ISO8859_4
	case "LATIN5":
		return charmap.ISO8859_9
	case "LATIN6":
		return charmap.ISO8859_10
	case "LATIN7":
		return charmap.ISO8859_13
	case "LATIN8":
		return charmap.ISO8859_14
	case "LATIN9":
		return charmap.ISO8859_15
	case "LATIN10":
		return charmap.ISO8859_16
	case "ISO_8859_5":
		return charmap.ISO8859_5
	case "ISO_8859_6":
		return charmap.ISO8859_6
	case "ISO_8859_7":
		return charmap.ISO8859_7
	case "ISO_8859_8":
		return charmap.ISO8859_8
	case "KOI8R":
		return charmap.KOI8R
	case "KOI8U":
		return charmap.KOI8U
	case "WIN866":
		return charmap.CodePage866
	case "WIN874":
		return charmap.Windows874
	case "WIN1250":
		return charmap.Windows1250
	case "WIN1251":
		return charmap.Windows1251
	case "WIN1252":
		return charmap.Windows1252
	case "WIN1253":
		return charmap.Windows1253
	case "WIN1254":
		return charmap.Windows1254
	case "WIN1255":
		return charmap.Windows1255
	case "WIN1256":
		return charmap.Windows1256
	case "WIN1257":
		return charmap.Windows1257
	case "WIN1258":
		return charmap.Windows1258
	case "EUC_JP", "EUC_JIS_2004":
		return japanese.EUCJP
	case "SJIS", "SHIFT_JIS_2004":
		return japanese.ShiftJIS
	case "EUC_KR", "UHC":
		return korean.EUCKR
	case "EUC_CN", "GBK":
		return simplifiedchinese.GBK
	case "GB18030":
		return simplifiedchinese.GB18030
	case "BIG5":
		return traditionalchinese.Big5
	}
	return nil
}
