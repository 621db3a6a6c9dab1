package labels

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Keelson is a running `keelson testserver`, or a fork of one. Copy this file into your project.
type Keelson struct {
	URL          string `json:"url"`
	Kubeconfig   string `json:"kubeconfig"`
	ControlURL   string `json:"control"`
	ControlToken string `json:"controlToken"`
}

// StartKeelson starts the program, which ends with the test. The environment variable KEELSON names
// the command if keelson is not on PATH.
func StartKeelson(t *testing.T, flags ...string) *Keelson {
	t.Helper()
	words := strings.Fields(os.Getenv("KEELSON"))
	if len(words) == 0 {
		words = []string{"keelson"}
	}
	words = append(append(words, "testserver"), flags...)
	program := exec.Command(words[0], words[1:]...)
	program.Stderr = os.Stderr
	// The program ends when its standard input closes.
	input, err := program.StdinPipe()
	check(t, err)
	output, err := program.StdoutPipe()
	check(t, err)
	check(t, program.Start())
	t.Cleanup(func() {
		_ = input.Close()
		_ = program.Wait()
	})
	server := &Keelson{}
	check(t, json.NewDecoder(output).Decode(server))
	return server
}

// Fork starts an isolated copy of the server, which ends with the test.
func (k *Keelson) Fork(t *testing.T) *Keelson {
	t.Helper()
	fork := &Keelson{}
	k.Control(t, http.MethodPost, "/fork", nil, fork)
	t.Cleanup(func() { fork.Control(t, http.MethodDelete, "", nil, nil) })
	return fork
}

// Config is the administrator's configuration of a client.
func (k *Keelson) Config(t *testing.T) *rest.Config {
	t.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(k.Kubeconfig))
	check(t, err)
	return config
}

// Control calls the control interface (/fork, /reset, /faults, /requests, /clock) and decodes the
// answer into result, unless that is nil.
func (k *Keelson) Control(t *testing.T, method, path string, body, result any) {
	t.Helper()
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		check(t, err)
		content = bytes.NewReader(encoded)
	}
	request, err := http.NewRequest(method, k.ControlURL+path, content)
	check(t, err)
	request.Header.Set("Authorization", "Bearer "+k.ControlToken)
	response, err := http.DefaultClient.Do(request)
	check(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	check(t, err)
	if response.StatusCode >= http.StatusBadRequest {
		t.Fatalf("%s %s: %s", method, path, text)
	}
	if result != nil {
		check(t, json.Unmarshal(text, result))
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
