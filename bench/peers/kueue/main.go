// Kueue's own load runner against a berth of its own, over HTTPS.
//
//	go run . GENERATOR.yaml [QPS]
//
// Starts ../../../build/berth (or $BERTH) in a new directory, lets `go tool runner` (Kueue's
// test/performance/scheduler/runner, built as a module) drive it, and prints the wall time that
// the runner took and the processor time that berth took. Without a file it says so and ends.
package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

func fail(format string, a ...any) {
	fmt.Fprintf(os.Stderr, "kueue: "+format+"\n", a...)
	os.Exit(1)
}

// Starts berth and waits until it says that it is ready.
func start(program, data string) *exec.Cmd {
	c := exec.Command(program, "up", "--data", data, "--listen", "127.0.0.1:0", "--no-defaults",
		"--no-node", "--hollow-nodes", "1")
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		fail("%v", err)
	}
	if err := c.Start(); err != nil {
		fail("cannot start '%s': %v", program, err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "ready") {
			return c
		}
	}
	fail("berth up did not become ready")
	return nil
}

func main() {
	if len(os.Args) < 2 {
		fmt.Println("name a generator's file (the baseline shape of Kueue's performance test) to run this")
		return
	}
	qps, berth := "2000", os.Getenv("BERTH")
	if len(os.Args) > 2 {
		qps = os.Args[2]
	}
	if berth == "" {
		berth = "../../../build/berth"
	}
	dir, err := os.MkdirTemp("", "berth-kueue.")
	if err != nil {
		fail("%v", err)
	}
	defer os.RemoveAll(dir)
	config, _ := filepath.Abs(os.Args[1])
	data := filepath.Join(dir, "data")
	server := start(berth, data)

	runner := exec.Command("go", "tool", "runner", "--generatorConfig", config, "--o", dir,
		"--qps", qps, "--burst", qps, "--timeout", "20m")
	runner.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(data, "kubeconfig"), "PROJECT_DIR="+dir)
	runner.Stdout, runner.Stderr = os.Stderr, os.Stderr
	began := time.Now()
	failed := runner.Run()
	wall := time.Since(began)
	server.Process.Signal(os.Interrupt)
	server.Wait()
	if summary, err := os.ReadFile(filepath.Join(dir, "summary.yaml")); err == nil {
		os.Stdout.Write(summary)
	}
	fmt.Printf("%-52s %10.2f s\n", "kueue/runner wall", wall.Seconds())
	cpu := server.ProcessState.UserTime() + server.ProcessState.SystemTime()
	fmt.Printf("%-52s %10.2f s\n", "kueue/runner processor of berth", cpu.Seconds())
	if failed != nil {
		fail("the runner: %v", failed)
	}
}
