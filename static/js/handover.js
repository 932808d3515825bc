// Sends the new key to the shop. Without scripts the person presses the button.
document.getElementById("handover").submit();
