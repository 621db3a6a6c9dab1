package labels

import (
	"context"
	"maps"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// TestLabelsWithEnvtest needs an environment: eval "$(keelson envtest)".
func TestLabelsWithEnvtest(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("KUBEBUILDER_ASSETS is not set")
	}
	environment := &envtest.Environment{}
	server, err := environment.Start()
	check(t, err)
	t.Cleanup(func() { check(t, environment.Stop()) })
	runReconciler(t, server)
	expectLabel(t, server)
}

func TestLabelsInSpiteOfAConflict(t *testing.T) {
	server := StartKeelson(t).Fork(t)
	// Other namespaces have ConfigMaps, too.
	update := map[string]any{"verb": "update", "resource": "configmaps", "namespace": "default"}
	fault := maps.Clone(update)
	fault["fail"] = 409
	server.Control(t, "POST", "/faults", fault, nil)
	runReconciler(t, server.Config(t))
	expectLabel(t, server.Config(t))
	var updates struct {
		Items []struct {
			Status int `json:"status"`
		} `json:"items"`
	}
	server.Control(t, "POST", "/requests", update, &updates)
	if len(updates.Items) != 2 || updates.Items[0].Status != 409 || updates.Items[1].Status != 200 {
		t.Fatalf("a conflict and one further update were expected, found %+v", updates.Items)
	}
}

// runReconciler runs the reconciler in a manager until the test ends.
func runReconciler(t *testing.T, server *rest.Config) {
	t.Helper()
	// Names of controllers are unique in a process, which runs several tests here.
	sharesNames := true
	m, err := manager.New(server, manager.Options{
		Controller: config.Controller{SkipNameValidation: &sharesNames},
		Metrics:    metrics.Options{BindAddress: "0"},
	})
	check(t, err)
	check(t, (&Reconciler{Client: m.GetClient()}).SetupWithManager(m))
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		check(t, <-ended)
	})
}

// expectLabel creates a ConfigMap and waits for its label.
func expectLabel(t *testing.T, server *rest.Config) {
	t.Helper()
	c, err := client.New(server, client.Options{})
	check(t, err)
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"}}
	check(t, c.Create(context.Background(), object))
	isLabelled := func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKeyFromObject(object), object)
		return object.Labels["seen"] == "yes", err
	}
	check(t, wait.PollUntilContextTimeout(
		context.Background(), 10*time.Millisecond, 10*time.Second, true, isLabelled))
}
