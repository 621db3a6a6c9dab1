module example.com/labels

go 1.24.0

require (
	k8s.io/api v0.34.3
	k8s.io/apimachinery v0.34.3
	k8s.io/client-go v0.34.3
	sigs.k8s.io/controller-runtime v0.22.5
)
