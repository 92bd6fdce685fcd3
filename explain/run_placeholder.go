package explain

// foreign says what to do about a placeholder that was sent to the server unread, where
// that may be why it gave an error of this SQLSTATE; "" for none.
func (j *judgement) foreign(code string) string {
	switch code {
	case "42601", "42P18", "42703", "42883":
	default:
		return ""
	}
	switch other := j.norm.Foreign(); {
	case other == "":
		return ""
	case j.norm.Mixed(other):
		return "the placeholders are of two styles, " + j.norm.Params[0].Spelling + " and " + clip(oneLine(other), 40) + ": write all in one"
	default:
		return "the placeholder " + clip(oneLine(other), 40) + " is of no known style: write it as $1, ?, ?1, :name, :1, @name, %s, %(name)s or sqlc.arg(name)"
	}
}
