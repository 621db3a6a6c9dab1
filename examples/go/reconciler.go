// Package labels has a reconciler that labels ConfigMaps; its tests run on Keelson.
package labels

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Reconciler sets the label seen=yes of every ConfigMap.
type Reconciler struct {
	client.Client
}

// Reconcile returns errors of the API; controller-runtime tries again after them.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var config corev1.ConfigMap
	if err := r.Get(ctx, request.NamespacedName, &config); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if config.Labels["seen"] == "yes" {
		return reconcile.Result{}, nil
	}
	if config.Labels == nil {
		config.Labels = map[string]string{}
	}
	config.Labels["seen"] = "yes"
	return reconcile.Result{}, r.Update(ctx, &config)
}

// SetupWithManager adds the reconciler to a manager.
func (r *Reconciler) SetupWithManager(m manager.Manager) error {
	return builder.ControllerManagedBy(m).For(&corev1.ConfigMap{}).Complete(r)
}
