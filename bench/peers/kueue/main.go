// Kueue's own load runner against a berth of its own, over HTTPS.
//
//	go run . GENERATOR.yaml [QPS]
//
// Builds Kueue's test/performance/scheduler/runner (as a module), starts ../../../build/berth (or
// $BERTH) in a new directory, lets the runner drive it, and prints the wall time and the processor
// time that berth took until the runner had all it waits for (what it measures of Kueue ends
// there, too), and again until it had cleaned up. Without a file it says so and ends.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const runnerPackage = "sigs.k8s.io/kueue/test/performance/scheduler/runner"

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

// Returns once the file is there, or the process is no more.
func awaitFile(name string, pid int) {
	for {
		state := stat(pid)
		if _, err := os.Stat(name); err == nil || state == nil || state[0] == "Z" {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// The fields of /proc/PID/stat behind the name; nil where there is none.
func stat(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
}

// User and system time, which Linux tells in hundredths of a second.
func processor(pid int) (sum time.Duration) {
	if s := stat(pid); s != nil {
		for _, ticks := range s[11:13] {
			n, _ := strconv.Atoi(ticks)
			sum += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return sum
}

func tell(what string, d time.Duration) {
	fmt.Printf("%-52s %10.2f s\n", "kueue/runner "+what, d.Seconds())
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
	program := filepath.Join(dir, "runner")
	if out, err := exec.Command("go", "build", "-o", program, runnerPackage).CombinedOutput(); err != nil {
		fail("cannot build the runner: %v\n%s", err, out)
	}
	server := start(berth, data)

	runner := exec.Command(program, "--generatorConfig", config, "--o", dir,
		"--qps", qps, "--burst", qps, "--timeout", "20m")
	runner.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(data, "kubeconfig"), "PROJECT_DIR="+dir)
	runner.Stdout, runner.Stderr = os.Stderr, os.Stderr
	began := time.Now()
	if err := runner.Start(); err != nil {
		fail("cannot start the runner: %v", err)
	}
	awaitFile(filepath.Join(dir, "wlStates.csv"), runner.Process.Pid)
	wall, cpu := time.Since(began), processor(server.Process.Pid)
	failed := runner.Wait()
	all := time.Since(began)
	server.Process.Signal(os.Interrupt)
	server.Wait()
	if summary, err := os.ReadFile(filepath.Join(dir, "summary.yaml")); err == nil {
		os.Stdout.Write(summary)
	}
	tell("wall", wall)
	tell("processor of berth", cpu)
	tell("wall, with its cleaning up", all)
	tell("processor of berth, with its cleaning up",
		server.ProcessState.UserTime()+server.ProcessState.SystemTime())
	if failed != nil {
		fail("the runner: %v", failed)
	}
}
