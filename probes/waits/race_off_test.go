//go:build !race

package waits

const raceDetector = false
